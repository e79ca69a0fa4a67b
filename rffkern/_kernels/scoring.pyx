"""Kernels that every model needs: rows from text and in tiles, and scores of few rows and of many."""

include "csv_numbers.pyx"
include "packing.pyx"
include "few_rows.pyx"
include "many_rows.pyx"
