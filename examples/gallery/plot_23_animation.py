"""
A regression, round by round
============================

Fourier boosting learns a wave that ends in a step. Its first rounds are a trend and a few slow waves; sharper ones
follow as long as they lower the error of rows that are held out, and trees put in the step. The buttons play it.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation

import rffkern

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 1, 300))[:, None]
signal = np.sin(12 * x[:, 0]) + x[:, 0] + 2 * (x[:, 0] > 0.7)
y = signal + 0.3 * rng.standard_normal(300)
model = rffkern.FourierBoostingRegressor(random_state=0).fit(x, y)
curves = list(model.staged_predict(x))
shown = np.unique(np.geomspace(1, len(curves), 16).astype(int))

figure, ax = plt.subplots(figsize=(5.4, 2.8), dpi=72)
ax.plot(x, y, ".", color="#80808080", markersize=4)
line, = ax.plot(x, curves[-1], color="#c8553d", linewidth=2)


def draw(t):
    """The mean of the bags after their first t rounds."""
    line.set_ydata(curves[t - 1])
    error = np.sqrt(np.mean((curves[t - 1] - signal) ** 2))
    ax.set_title(f"after {t}: {error:.2f} from the function; noise 0.30", fontsize="medium")


animation = FuncAnimation(figure, draw, frames=shown, interval=500)
plt.show()
