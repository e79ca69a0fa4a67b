# cython: language_level=3
"""Scores of a model that Python has trained, without the interpreter.  It compiles nothing of rffkern but rffkern.h."""
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdlib cimport free, malloc
from rffkern cimport (
    RFF_ABI_VERSION, RFF_FLOAT64, RFF_FUNCTIONS_CAPSULE, RFF_MODEL_CAPSULE, rff_functions, rff_model,
)
import rffkern

_functions = rffkern.c_functions()
cdef const rff_functions *rff = <const rff_functions *>PyCapsule_GetPointer(_functions, RFF_FUNCTIONS_CAPSULE)
assert rff.abi_version == RFF_ABI_VERSION


def score(model, const double[:, ::1] rows, double[:, ::1] scores):
    """Fill scores (n_rows, n_outputs) for rows (n_rows, n_features) of any number."""
    capsule = rffkern.c_model(model)   # which owns what it points to
    cdef const rff_model *function = <const rff_model *>PyCapsule_GetPointer(capsule, RFF_MODEL_CAPSULE)
    cdef size_t n = rows.shape[0], size = rff.scratch_size(function, n)
    with nogil:
        scratch = malloc(size)
        error = rff.score(function, RFF_FLOAT64, &rows[0, 0], n, &scores[0, 0], scratch, size)
        free(scratch)
    if error:
        raise ValueError(f"rff_score: {<int>error}")
