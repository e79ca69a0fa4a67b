/* Parallel loops in the form that Cython writes, over the threads of rffkern (with -DRFF_OWN_TEAM, team.c and gomp.c) or
 * over the compiler's OpenMP.
 *
 *     regions stress ROUNDS    many callers, regions in regions, forks; exit code 1 where a sum is wrong
 *     regions time THREADS     median microseconds of a region, for loops of 8 chunks of several lengths
 *     regions threads NUMBER   how many members had chunks of a region for which NUMBER were asked
 */

#include "team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define MOST 4096 /* chunks */
#define CALLERS 6
#define RESTED 7 /* one in so many lengths */

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* sums[i] = sum of 1 / (i + k) for k = 1, ..., length; return the last i.  members[m] is whether member m had a chunk.
   Some chunks sleep, so that other threads come in time on a busy machine too. */
static long sum_parts(long first, long last, int n_threads, long length, double *sums, char *members)
{
    long i = -1, found = 0;
#pragma omp parallel num_threads(n_threads) reduction(| : found)
    {
#pragma omp for nowait firstprivate(i) lastprivate(i) schedule(dynamic)
        for (long number = 0; number < last - first; number++) {
            double sum = 0;
            i = first + number;
            for (long k = 1; k <= length; k++) sum += 1.0 / (double)(i + k);
            sums[i] = sum;
            if (length % RESTED == 1) usleep(20);
            members[omp_get_thread_num()] = 1;
            found |= i;
        }
    }
    return found < 0 ? -2 : i;
}

static int is_wrong(long size, int n_threads, long length)
{
    double sums[MOST], expected[MOST];
    char members[1024] = {0}, one[1024] = {0};
    if (sum_parts(0, size, n_threads, length, sums, members) != size - 1) return 1;
    if (sum_parts(0, size, 1, length, expected, one) != size - 1) return 1;
    return memcmp(sums, expected, sizeof *sums * (size_t)size) != 0;
}

/* Each chunk of a region has regions of its own. */
static int is_wrong_within(long size, int n_threads)
{
    int wrong[64] = {0}, found = 0;
    long i = -1;
#pragma omp parallel num_threads(n_threads)
    {
#pragma omp for nowait firstprivate(i) lastprivate(i) schedule(dynamic)
        for (long number = 0; number < size; number++) {
            i = number;
            wrong[i] = is_wrong(1 + i % 7, 3, 20);
        }
    }
    for (long k = 0; k < size; k++) found |= wrong[k];
    return found || i != size - 1;
}

static int rounds;

static void *call(void *seed)
{
    unsigned state = *(unsigned *)seed;
    for (int round = 0; round < rounds; round++) {
        state = state * 1664525u + 1013904223u;
        if (is_wrong(1 + (state >> 8) % 40, 1 + (int)((state >> 16) % 6), (state >> 20) % 300)) return seed;
        if (round % 64 == 0 && is_wrong_within(1 + (state >> 8) % 20, 4)) return seed;
    }
    return NULL;
}

/* Forks while other threads have regions; each child has regions too. */
static int forks_fail(int n_forks)
{
    for (int k = 0; k < n_forks; k++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            _exit(is_wrong(40, 4, 200) || is_wrong_within(9, 3));
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status) return 1;
    }
    return 0;
}

static int stress(int n_rounds, int n_forks)
{
    pthread_t callers[CALLERS];
    unsigned seeds[CALLERS];
    int wrong = 0;
    rounds = n_rounds;
    for (unsigned k = 0; k < CALLERS; k++) {
        seeds[k] = k;
        if (pthread_create(&callers[k], NULL, call, &seeds[k])) return 2;
    }
    wrong |= forks_fail(n_forks);
    for (unsigned k = 0; k < CALLERS; k++) {
        void *result;
        pthread_join(callers[k], &result);
        wrong |= result != NULL;
    }
    return wrong;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void time_regions(int n_threads)
{
    static const long lengths[] = {0, 500, 5000, 50000};
    static double sums[MOST], times[1000];
    char members[1024];
    for (int k = 0; k < 4; k++) {
        int n = k < 3 ? 1000 : 100;
        double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
        for (int r = 0; r < n; r++) {
            times[r] = seconds(CLOCK_MONOTONIC);
            sum_parts(0, 8, n_threads, lengths[k], sums, members);
            times[r] = seconds(CLOCK_MONOTONIC) - times[r];
        }
        cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        qsort(times, (size_t)n, sizeof *times, compare);
        printf("%ld %.3f %.3f\n", lengths[k], 1e6 * times[n / 2], 1e6 * cpu / n);
    }
}

static int count_members(int n_threads)
{
    static double sums[MOST];
    char members[1024] = {0};
    int count = 0;
    sum_parts(0, MOST, n_threads, 1, sums, members);
    for (int k = 0; k < 1024; k++) count += members[k];
    return count;
}

int main(int argc, char **argv)
{
    int number = argc > 2 ? atoi(argv[2]) : 1;
#ifdef RFF_OWN_TEAM
    use_team(&team_of_process);
#endif
    if (argc < 3) return 2;
    if (!strcmp(argv[1], "stress")) return stress(number, argc > 3 ? atoi(argv[3]) : 0);
    if (!strcmp(argv[1], "time")) time_regions(number);
    if (!strcmp(argv[1], "threads")) printf("%d\n", count_members(number));
    return 0;
}
