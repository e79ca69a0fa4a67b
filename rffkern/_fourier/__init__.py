"""Mathematics of random Fourier features that several families share."""
