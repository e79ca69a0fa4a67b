"""Kernels of Fourier boosting: losses, pairs of columns, tables, and scores of tables and lines."""

include "boost_losses.pyx"
include "boost_pairs.pyx"
include "boost_tables.pyx"
include "term_scoring.pyx"
