"""Kernels that fuse no product with a sum, so that all machines give the same bits: maps of columns, and models in C.
"""

include "columns/column_forms.pyx"
include "models/embedding.pyx"
