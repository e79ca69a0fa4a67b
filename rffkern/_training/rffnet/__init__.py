"""Random Fourier features with learned relevances: RFFNet."""
