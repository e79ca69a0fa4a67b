/* Threads of parallel loops: an own runtime for what GCC makes of Cython's `prange`.
 *
 * The loops of all extension modules share one set of threads, which stands in team.c and is linked into `simd`.  Each
 * module with a `prange` has the entry points that GCC calls from gomp.c, hidden from all other libraries; they call
 * these functions.  Builds without it (RFF_OWN_TEAM) take the compiler's OpenMP, or none.
 */
#ifndef RFFKERN_TEAM_H
#define RFFKERN_TEAM_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    void (*parallel)(void (*work)(void *), void *data, unsigned n_threads);
    void (*barrier)(void);
    bool (*loop_start)(long start, long end, long step, long chunk, long *first, long *last);
    bool (*loop_next)(long *first, long *last);
    int (*number)(void);
} team_functions;

#ifdef RFF_OWN_TEAM
#define TEAM_IS_OWN 1
extern const team_functions team_of_process; /* linked into one module alone */
void use_team(const team_functions *functions); /* by the loops of this module from now on */
#else
#define TEAM_IS_OWN 0
static const team_functions team_of_process;
static inline void use_team(const team_functions *functions) { (void)functions; }
#endif

#endif
