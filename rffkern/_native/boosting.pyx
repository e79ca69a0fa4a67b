"""Kernels of Fourier boosting: losses, pairs of columns, tables, and scores of tables and lines."""

include "boost/losses.pyx"
include "boost/pairs.pyx"
include "boost/tables.pyx"
include "models/term_scoring.pyx"
