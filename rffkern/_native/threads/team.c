/* One set of threads for the parallel loops of the process.  See team.h.
 *
 * A region is a call of `work` by its caller and by some workers, who share out the chunks of one loop.  Nobody waits for
 * a worker to come: the caller begins at once, and a worker that wakes up in time joins it.  Whoever takes the last chunk
 * closes the region to those who come later.  So a region takes no longer than on one thread where all CPUs are busy, and
 * a caller whose workers serve others, or could not be started, does its loop alone.
 *
 * There are as many workers as the largest region has asked for, less its caller; regions of several callers share them.
 * They sleep between regions, with all signals blocked, and call nothing of Python.  Regions in regions run on one
 * thread.  A child of a fork starts with no workers, and makes its own.
 *
 * Waking a thread takes longer than many a loop.  So one that waits looks for some microseconds before it sleeps, unless
 * there are more threads than CPUs; looks that were in vain make the next ones shorter. */

#define _GNU_SOURCE /* for sched_getaffinity */

#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum {
    MAX_WORKERS = 1023,
    STACK_SIZE = 1 << 20,
    REGIONS_WITHOUT = 1000, /* until a thread is tried again, once one could not be started */
#ifndef LONGEST_LOOK
    LONGEST_LOOK = 50000, /* nanoseconds */
#endif
    SHORTEST_LOOK = 1000,
    LOOKS_AT_ONCE = 16, /* between two looks at the clock */
};

typedef struct region {
    void (*work)(void *);
    void *data;
    unsigned n_threads, n_members; /* members who may come and who have come, with the caller */
    bool is_shared;                /* workers have been told of it */
    bool is_awaited;               /* by its caller, until all have left */
    struct region *next;           /* of those that are open */
    pthread_cond_t changed;        /* somebody has left, or is beyond the barrier */
    atomic_uint n_inside;          /* workers among the members who have not left */
    atomic_long n_taken;           /* chunks */
    atomic_uint n_beyond;          /* members who are beyond the barrier */
    atomic_bool is_closing;        /* somebody waits for members to be beyond the barrier */
} region;

typedef struct {
    region *region;
    int number;
    long start, end, step, n_chunks; /* of its loop; a chunk is `step` wide */
} member;

static _Thread_local member *current; /* of this thread in the region that it works for, or NULL */

/* The lock guards all that stands here and in regions, but what is atomic, and is held for moments. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static region *open_regions;
static unsigned n_workers, n_idle, n_without, n_regions, n_cpus;
static atomic_uint n_opened; /* regions up to now */
static atomic_uint caller_look = LONGEST_LOOK, worker_look = LONGEST_LOOK; /* nanoseconds */

static void before_fork(void) { pthread_mutex_lock(&lock); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&lock); }

static void after_fork_in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    opened = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    open_regions = NULL;
    n_workers = n_idle = n_without = n_regions = 0;
}

static unsigned nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned)now.tv_sec * 1000000000u + (unsigned)now.tv_nsec; /* differences of which are right */
}

/* Give the lock away while a number is what it is, but not for long. */
static void look_at(atomic_uint *number, atomic_uint *longest)
{
    unsigned value = atomic_load(number), most = atomic_load(longest), started;
    if (n_workers + (n_regions ? n_regions : 1) > n_cpus) return;
    pthread_mutex_unlock(&lock);
    started = nanoseconds();
    while (atomic_load(number) == value && nanoseconds() - started < most) {
        for (int k = 0; k < LOOKS_AT_ONCE && atomic_load(number) == value; k++) {
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#elif defined(__aarch64__)
            __asm__ volatile("isb");
#endif
        }
    }
    if (atomic_load(number) != value) atomic_store(longest, LONGEST_LOOK);
    else if (most > SHORTEST_LOOK) atomic_store(longest, most / 2);
    pthread_mutex_lock(&lock);
}

static void watch_forks(void) { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

static region *region_with_room(void)
{
    region *one = open_regions;
    while (one && one->n_members == one->n_threads) one = one->next;
    return one;
}

static void *work_for_regions(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        region *one = region_with_room();
        if (!one) {
            look_at(&n_opened, &worker_look);
            one = region_with_room();
        }
        if (!one) {
            n_idle++;
            pthread_cond_wait(&opened, &lock);
            n_idle--;
            continue;
        }
        member self = {.region = one, .number = (int)one->n_members++};
        atomic_fetch_add(&one->n_inside, 1);
        pthread_mutex_unlock(&lock);
        current = &self;
        one->work(one->data);
        pthread_mutex_lock(&lock);
        if (atomic_fetch_sub(&one->n_inside, 1) == 1 && one->is_awaited) pthread_cond_broadcast(&one->changed);
    }
    return NULL;
}

/* Start workers until there are so many, or until one cannot be started. */
static void start_workers(unsigned wanted)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    cpu_set_t cpus;
    if (n_workers >= wanted || (n_without && n_without--) || pthread_attr_init(&attributes)) return;
    n_cpus = sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : (unsigned)CPU_COUNT(&cpus);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (n_workers < wanted && !n_without) {
        if (pthread_create(&thread, &attributes, work_for_regions, NULL)) n_without = REGIONS_WITHOUT;
        else n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* Tell workers of a region. */
static void open_region(region *one)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned wanted = one->n_threads - 1, woken;
    pthread_once(&once, watch_forks);
    one->is_shared = true;
    pthread_cond_init(&one->changed, NULL);
    pthread_mutex_lock(&lock);
    start_workers(wanted);
    one->next = open_regions;
    open_regions = one;
    n_regions++;
    atomic_fetch_add(&n_opened, 1);
    woken = wanted < n_idle ? wanted : n_idle;
    pthread_mutex_unlock(&lock);
    while (woken--) pthread_cond_signal(&opened);
}

/* Let nobody join any more, and wait until all who have joined are beyond the barrier: until then they may read what the
   member with the last chunk writes at its end. */
static void close_region(region *one)
{
    region **link = &open_regions;
    pthread_mutex_lock(&lock);
    while (*link != one) link = &(*link)->next;
    *link = one->next;
    atomic_store(&one->is_closing, true);
    while (atomic_load(&one->n_beyond) < one->n_members) pthread_cond_wait(&one->changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void parallel(void (*work)(void *), void *data, unsigned n_threads)
{
    region own = {.work = work, .data = data, .n_threads = n_threads, .n_members = 1};
    member self = {.region = &own}, *outer = current;
    if (outer) own.n_threads = 1;
    if (own.n_threads > MAX_WORKERS + 1) own.n_threads = MAX_WORKERS + 1;
    current = &self;
    work(data);
    current = outer;
    if (!own.is_shared) return;
    pthread_mutex_lock(&lock);
    while (atomic_load(&own.n_inside)) {
        look_at(&own.n_inside, &caller_look);
        own.is_awaited = true;
        if (atomic_load(&own.n_inside)) pthread_cond_wait(&own.changed, &lock);
    }
    n_regions--;
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&own.changed);
}

static void barrier(void)
{
    region *one = current->region;
    atomic_fetch_add(&one->n_beyond, 1);
    if (!atomic_load(&one->is_closing)) return;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&one->changed);
    pthread_mutex_unlock(&lock);
}

static bool loop_next(long *first, long *last)
{
    member *self = current;
    long k = atomic_fetch_add_explicit(&self->region->n_taken, 1, memory_order_relaxed);
    if (k >= self->n_chunks) return false;
    if (k == self->n_chunks - 1 && self->region->is_shared) close_region(self->region);
    *first = self->start + k * self->step;
    *last = k == self->n_chunks - 1 ? self->end : *first + self->step;
    return true;
}

static bool loop_start(long start, long end, long step, long chunk, long *first, long *last)
{
    member *self = current;
    if (self->step) abort(); /* a region has one loop */
    self->start = start;
    self->end = end;
    self->step = step * chunk;
    self->n_chunks = step > 0 ? (end - start + self->step - 1) / self->step : (end - start + self->step + 1) / self->step;
    if (self->n_chunks <= 0) return false;
    if (self->number == 0) {
        region *one = self->region;
        if (one->n_threads > self->n_chunks) one->n_threads = (unsigned)self->n_chunks;
        if (one->n_threads > 1) open_region(one);
    }
    return loop_next(first, last);
}

static int number(void) { return current->number; }

const team_functions team_of_process = {parallel, barrier, loop_start, loop_next, number};
