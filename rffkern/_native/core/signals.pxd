"""Looks at signals, so that Ctrl-C ends a long call within a fraction of a second.

A kernel works in pieces of a bounded number of multiply-adds, and looks between them.  Where one strip or one tile is
more than that, a piece is some of the terms, or of what else it runs over.  Pieces change the order of no sum.
"""

from cpython.exc cimport PyErr_CheckSignals

cdef enum:
    SIGNAL_WORK = 200000000     # multiply-adds of a thread between two looks: some hundredths of a second
    COSINE = 16                 # multiply-adds that a cosine or an exponential counts for


cdef inline Py_ssize_t at_once(Py_ssize_t each) noexcept nogil:
    """How many parts of so many multiply-adds a piece has."""
    return max(<Py_ssize_t>1, SIGNAL_WORK // max(<Py_ssize_t>1, each))


cdef inline int look_at_signals(Py_ssize_t *work, Py_ssize_t more) except -1 nogil:
    """Let Python handle signals where `more` makes much work since the last time; `work` counts it.

    Not more often: another thread of Python may hold its lock for milliseconds.
    """
    work[0] += more
    if work[0] >= SIGNAL_WORK:
        work[0] = 0
        with gil:
            PyErr_CheckSignals()
    return 0
