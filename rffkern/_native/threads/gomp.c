/* The entry points of GNU OpenMP that GCC calls for a `prange` with schedule='dynamic', and no others: a module with
 * another kind of loop is not loaded, for want of a symbol.  They are hidden: another OpenMP in the process neither takes
 * their calls nor has its own taken by them. */

#include "team.h"

static const team_functions *team;

void use_team(const team_functions *functions) { team = functions; }

void GOMP_parallel(void (*work)(void *), void *data, unsigned n_threads, unsigned flags);
void GOMP_barrier(void);
bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long *first, long *last);
bool GOMP_loop_nonmonotonic_dynamic_next(long *first, long *last);
void GOMP_loop_end_nowait(void);
int omp_get_thread_num(void);
int omp_get_max_threads(void);

void GOMP_parallel(void (*work)(void *), void *data, unsigned n_threads, unsigned flags)
{
    (void)flags;
    team->parallel(work, data, n_threads);
}

void GOMP_barrier(void) { team->barrier(); }

bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long *first, long *last)
{
    return team->loop_start(start, end, step, chunk, first, last);
}

bool GOMP_loop_nonmonotonic_dynamic_next(long *first, long *last) { return team->loop_next(first, last); }

void GOMP_loop_end_nowait(void) {}

int omp_get_thread_num(void) { return team->number(); }

int omp_get_max_threads(void) { return 1; } /* of loops with num_threads=0, which no kernel has */
