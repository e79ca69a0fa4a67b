"""Kernels that fuse no product with a sum, so that all machines give the same bits: maps of columns, and models in C.
"""

include "column_forms.pyx"
include "embedding.pyx"
