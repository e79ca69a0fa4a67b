"""Kernels of GBRFF: rounds, phases, frequencies and landmarks."""

include "fourier/rounds.pyx"
include "fourier/phase.pyx"
include "fourier/omega.pyx"
include "fourier/landmark.pyx"
