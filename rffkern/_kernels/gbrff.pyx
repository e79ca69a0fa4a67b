"""Kernels of GBRFF: rounds, phases, frequencies and landmarks."""

include "gbrff_rounds.pyx"
include "gbrff_phase.pyx"
include "gbrff_omega.pyx"
include "gbrff_landmark.pyx"
