"""Gradient boosting with random Fourier features: GBRFF1, GBRFF2 and GBRFF."""
