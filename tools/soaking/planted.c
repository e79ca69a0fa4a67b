/* Faults that the sanitizers must report, and work like that of the kernels in which they must find none. */

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
    #pragma omp parallel for schedule(dynamic) num_threads(2)
    for (int i = 0; i < n; i++) { total += i; usleep(200); }
    return total < 0;
}

int partial_sums(int n)
{
    volatile long *partial = calloc(n, sizeof *partial);
    long total = 0;
    for (int pass = 0; pass < 3; pass++) {
        #pragma omp parallel for schedule(dynamic) num_threads(2)
        for (int i = 0; i < n; i++) { partial[i] += i; usleep(200); }
        #pragma omp parallel for schedule(static) num_threads(2)
        for (int i = 0; i < n; i++) partial[i] += pass;
    }
    for (int i = 0; i < n; i++) total += partial[i];
    free((void *)partial);
    return total != 3L * n * (n - 1) / 2 + 3L * n;
}
