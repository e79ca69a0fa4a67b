"""Choice of the instruction-set level: once at import, or by `select` in tests."""

cdef extern from "vecmath.h" nogil:
    int vm_n_levels() noexcept
    int vm_has_openmp() noexcept
    const vecmath_f32 *vm_table_f32(int level) noexcept
    const vecmath_f64 *vm_table_f64(int level) noexcept

LEVELS = ("baseline", "x86-64-v2", "x86-64-v3", "x86-64-v4")[:vm_n_levels()]
HAS_OPENMP = bool(vm_has_openmp())

cdef int _level = 0


def select(str level):
    """Use the tables of one of `LEVELS` from now on, in every kernel."""
    global _level, table_f32, table_f64
    if level not in LEVELS:
        raise ValueError(f"level must be one of {LEVELS} on this machine, got {level!r}")
    _level = LEVELS.index(level)
    table_f32 = vm_table_f32(_level)
    table_f64 = vm_table_f64(_level)


def selected():
    """Name of the level in use."""
    return LEVELS[_level]


select(LEVELS[len(LEVELS) - 1])
