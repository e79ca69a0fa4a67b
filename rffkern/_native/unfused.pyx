"""Kernels that fuse no product with a sum, so that all machines give the same bits: maps of columns."""

include "columns/column_forms.pyx"
include "columns/summaries.pyx"
