"""
Random Fourier features approximate a kernel
============================================

The mean of cos(omega . (x - z)) over K frequencies drawn from N(0, 2 gamma I) is the Gaussian kernel
exp(-gamma (x - z)^2) up to 1 / sqrt(K). This is where all methods of the package begin; boosting then asks which
frequencies are worth having.
"""

import matplotlib.pyplot as plt
import numpy as np

distance = np.linspace(-4, 4, 300)
rng = np.random.default_rng(0)
for ax, n_components in zip(plt.subplots(1, 3, sharey=True)[1], [10, 100, 1000], strict=True):
    for _ in range(5):
        omegas = rng.normal(0, np.sqrt(2), n_components)
        ax.plot(distance, np.cos(distance[:, None] * omegas).mean(axis=1), lw=1, alpha=0.6)
    ax.plot(distance, np.exp(-(distance**2)), "k--", lw=2)
    ax.set(title=f"K = {n_components}", xlabel="x - z")
plt.show()
