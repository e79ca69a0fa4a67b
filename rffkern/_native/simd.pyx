"""Choice of the instruction set: once at import, or by `select` in tests."""

from libc.stdint cimport uint32_t

cdef extern from "vecmath.h" nogil:
    int vm_has_openmp() noexcept
    const vecmath_f32 *vm_table_f32(int level) noexcept
    const vecmath_f64 *vm_table_f64(int level) noexcept

cdef extern from "forms.h" nogil:
    const vm_forms_table *vm_table_forms(int level) noexcept

cdef extern from "boost_rows.h" nogil:
    const vb_table *vm_table_boost(int level) noexcept
cdef extern from "trees.h" nogil:
    const vm_trees_table *vm_table_trees(int level) noexcept

cdef extern from "products.h" nogil:
    const vx_table *vm_table_explain(int level) noexcept

cdef extern from "team.h" nogil:
    const team_functions team_of_process
    int TEAM_IS_OWN

cdef extern from "cpu.h" nogil:
    """
    #ifdef VM_HAVE_LEVELS
    #define BUILT_LEVELS 4
    #else
    #define BUILT_LEVELS 1
    #endif
    """
    ctypedef struct cpu_flag:
        const char *name
        int level
    const cpu_flag *cpu_flags
    int N_CPU_FLAGS
    int BUILT_LEVELS
    uint32_t cpu_detect() noexcept
    int cpu_n_levels(uint32_t flags) noexcept

HAS_OPENMP = bool(vm_has_openmp())
OWN_THREADS = bool(TEAM_IS_OWN)  # of team.c, instead of the compiler's OpenMP
team = &team_of_process

# Name and level of each flag of a machine, from the lowest bit of `detect` on.
FLAGS = tuple([((<bytes>cpu_flags[k].name).decode(), cpu_flags[k].level) for k in range(N_CPU_FLAGS)])

cdef int _level = 0


def detect():
    """Flags of this machine, as bits in the order of `FLAGS`."""
    return cpu_detect()


def fill_level_counts(
    unsigned char[::1] counts,   # OUT  (2^len(FLAGS),)
):
    """counts[flags] = number of levels that a machine with these flags can run."""
    cdef Py_ssize_t flags
    if counts.shape[0] != <Py_ssize_t>1 << N_CPU_FLAGS:
        raise ValueError("counts must have shape (2^len(FLAGS),)")
    with nogil:
        for flags in range(counts.shape[0]):
            counts[flags] = <unsigned char>cpu_n_levels(<uint32_t>flags)


LEVELS = ("baseline", "x86-64-v2", "x86-64-v3", "x86-64-v4")[:min(BUILT_LEVELS, cpu_n_levels(cpu_detect()))]


def select(str level):
    """Use the tables of one of `LEVELS` from now on, in every kernel."""
    global _level, table_f32, table_f64, table_forms, table_boost, table_trees, table_explain
    if level not in LEVELS:
        raise ValueError(f"level must be one of {LEVELS} on this machine, got {level!r}")
    _level = LEVELS.index(level)
    table_f32 = vm_table_f32(_level)
    table_f64 = vm_table_f64(_level)
    table_forms = vm_table_forms(_level)
    table_boost = vm_table_boost(_level)
    table_trees = vm_table_trees(_level)
    table_explain = vm_table_explain(_level)


def selected():
    """Name of the level in use."""
    return LEVELS[_level]


select(LEVELS[len(LEVELS) - 1])
