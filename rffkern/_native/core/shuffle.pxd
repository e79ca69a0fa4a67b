"""Random orders, drawn without Python: they only decide in which order rows are visited."""

from libc.stdint cimport uint64_t


cdef inline uint64_t next_random(uint64_t *state) noexcept nogil:
    """Marsaglia's xorshift64*, seeded by the model."""
    state[0] ^= state[0] >> 12
    state[0] ^= state[0] << 25
    state[0] ^= state[0] >> 27
    return state[0] * <uint64_t>2685821657736338717


cdef inline void shuffle(Py_ssize_t[::1] active, Py_ssize_t n_active, uint64_t *state) noexcept nogil:
    cdef Py_ssize_t i, k
    for k in range(n_active - 1, 0, -1):
        i = <Py_ssize_t>((next_random(state) >> 32) * <uint64_t>(k + 1) >> 32)
        active[k], active[i] = active[i], active[k]
