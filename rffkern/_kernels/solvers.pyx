"""Solvers that several families share: L-BFGS, and Cholesky factors."""

include "lbfgs.pyx"
include "linalg.pyx"
