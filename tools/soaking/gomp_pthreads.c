/* The entry points of GNU OpenMP that GCC calls for the kernels, over POSIX threads.

   ThreadSanitizer does not understand how GNU OpenMP starts, stops and holds up its threads, and reports races where
   there are none.  Loaded before it, this starts a region's threads with pthread_create and waits for them with
   pthread_join and pthread_barrier_wait, all of which ThreadSanitizer knows.  Rows are shared out by relaxed atomics
   that it does not see (this file is compiled without it), so that they order nothing and hide no race. */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_THREADS 64
#define MAX_LOOPS 16   /* of one region */

typedef struct {
    atomic_int state;   /* 0: nobody has come, 1: the first one sets it up, 2: ready */
    atomic_long next;
    long end, step, chunk;
} loop_t;

typedef struct {
    void (*work)(void *);
    void *data;
    unsigned size;
    pthread_barrier_t barrier;
    loop_t loops[MAX_LOOPS];
} team_t;

typedef struct { team_t *team; unsigned number; } member_t;

static __thread team_t *team;
static __thread unsigned number;
static __thread int n_loops;

int omp_get_thread_num(void) { return (int)number; }
int omp_get_num_threads(void) { return team ? (int)team->size : 1; }
int omp_get_max_threads(void) { return 4; }

static void *run(void *argument)
{
    member_t *member = argument;
    team_t *outer = team;
    unsigned outer_number = number;
    int outer_loops = n_loops;
    team = member->team;
    number = member->number;
    n_loops = 0;
    team->work(team->data);
    team = outer;
    number = outer_number;
    n_loops = outer_loops;
    return NULL;
}

void GOMP_parallel(void (*work)(void *), void *data, unsigned n_threads, unsigned flags)
{
    pthread_t threads[MAX_THREADS];
    member_t members[MAX_THREADS];
    team_t *ours = calloc(1, sizeof *ours);
    (void)flags;
    ours->work = work;
    ours->data = data;
    ours->size = n_threads == 0 ? 4 : n_threads > MAX_THREADS ? MAX_THREADS : n_threads;
    pthread_barrier_init(&ours->barrier, NULL, ours->size);
    for (unsigned k = 0; k < ours->size; k++) members[k] = (member_t){ours, k};
    for (unsigned k = 1; k < ours->size; k++)
        if (pthread_create(&threads[k], NULL, run, &members[k])) abort();
    run(&members[0]);
    for (unsigned k = 1; k < ours->size; k++) pthread_join(threads[k], NULL);
    pthread_barrier_destroy(&ours->barrier);
    free(ours);
}

void GOMP_barrier(void)
{
    if (team) pthread_barrier_wait(&team->barrier);
}

bool GOMP_loop_nonmonotonic_dynamic_next(long *start, long *end)
{
    loop_t *loop = &team->loops[n_loops - 1];
    long first = atomic_fetch_add_explicit(&loop->next, loop->chunk * loop->step, memory_order_relaxed);
    if (loop->step > 0 ? first >= loop->end : first <= loop->end) return false;
    long last = first + loop->chunk * loop->step;
    *start = first;
    *end = (loop->step > 0 ? last > loop->end : last < loop->end) ? loop->end : last;
    return true;
}

bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long *first, long *last)
{
    int nobody = 0;
    if (!team || n_loops == MAX_LOOPS) abort();
    loop_t *loop = &team->loops[n_loops++];
    if (atomic_compare_exchange_strong(&loop->state, &nobody, 1)) {
        loop->end = end;
        loop->step = step;
        loop->chunk = chunk;
        atomic_store(&loop->next, start);
        atomic_store(&loop->state, 2);
    }
    while (atomic_load(&loop->state) != 2) sched_yield();
    return GOMP_loop_nonmonotonic_dynamic_next(first, last);
}

void GOMP_loop_end_nowait(void) {}
