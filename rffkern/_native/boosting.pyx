"""Kernels of Fourier boosting: losses, Fourier terms, linear functions and trees."""

from .simd cimport team, use_team

use_team(team)

include "boost/losses.pyx"
include "boost/fourier_terms.pyx"
include "boost/linear_terms.pyx"
include "boost/bins.pyx"
include "boost/trees.pyx"
include "boost/draws.pyx"
