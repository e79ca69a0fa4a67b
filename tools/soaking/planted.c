/* Faults that the sanitizers must report, and work like that of the kernels in which they must find none. */

#include "team.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

int out_of_bounds(int n)
{
    volatile char *bytes = malloc(n);
    for (int i = 0; i <= n; i++) bytes[i] = 1;
    free((void *)bytes);
    return 0;
}

int used_after_free(int n)
{
    volatile char *bytes = malloc(n);
    free((void *)bytes);
    bytes[n / 2] = 1;
    return 0;
}

int overflow(int n)
{
    volatile int most = INT_MAX;
    return most + n;
}

/* Rows are shared out as in the kernels; each takes long enough that both threads have some. */
int race(int n)
{
    volatile long total = 0;
    int i = 0;
    use_team(&team_of_process);
    #pragma omp parallel num_threads(2)
    #pragma omp for nowait firstprivate(i) lastprivate(i) schedule(dynamic)
    for (int row = 0; row < n; row++) { i = row; total += i; usleep(200); }
    return total < 0;
}

int partial_sums(int n)
{
    volatile long *partial = calloc(n, sizeof *partial);
    long total = 0;
    int i = 0;
    use_team(&team_of_process);
    for (int pass = 0; pass < 6; pass++) {
        #pragma omp parallel num_threads(2)
        #pragma omp for nowait firstprivate(i) lastprivate(i) schedule(dynamic)
        for (int row = 0; row < n; row++) { i = row; partial[i] += i; if (pass % 2) usleep(200); }
    }
    for (int row = 0; row < n; row++) total += partial[row];
    free((void *)partial);
    return total != 3L * n * (n - 1) || i != n - 1;
}
