"""Solvers that several families share: L-BFGS, and Cholesky factors."""

include "linear_algebra/lbfgs.pyx"
include "linear_algebra/linalg.pyx"
