"""Kernels that every model needs: rows from text and in tiles, maps of columns, models in C, and scores of rows.

They fuse no product with a sum, so that all machines give the same bits.
"""

include "columns/column_forms.pyx"
include "columns/csv_numbers.pyx"
include "columns/summaries.pyx"
include "core/packing.pyx"
include "core/sparse_products.pyx"
include "models/embedding.pyx"
include "models/scorer.pyx"
