"""Kernels that every model needs: rows from text and in tiles, models in C, and scores of rows."""

include "columns/csv_numbers.pyx"
include "core/packing.pyx"
include "core/sparse_products.pyx"
include "models/embedding.pyx"
include "models/scorer.pyx"
