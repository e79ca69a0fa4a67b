"""Fourier boosting beside other libraries."""
