"""Kernels of PBRFF: features of landmarks, and the linear machine on them."""

include "fourier/landmark_features.pyx"
include "linear_algebra/linear_svm.pyx"
