"""
Boundaries of cosines, and of trees
===================================

Two spirals, four circles and a board of four by four cells, 500 rows each, as in Figure 5 of the paper on GBRFF2.
Above, the boundary of 1,000 cosines; below, that of an ensemble of trees alone, whose edges follow the axes. Per cent
are of right labels of new rows. `docs/papers.md` has the accuracy by the number of rows, beside LightGBM.
"""

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
label = rng.integers(0, 2, 2500)
turn = rng.uniform(0.5, 1, 2500) * 3 * np.pi
spirals = turn[:, None] * np.column_stack([np.cos(turn + np.pi * label), np.sin(turn + np.pi * label)])
radius, angle = label + 2 * rng.integers(0, 2, 2500) + 1, rng.uniform(0, 2 * np.pi, 2500)
circles = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
board = rng.uniform(0, 4, (2500, 2))
tables = {"spirals": (spirals + rng.normal(0, 0.3, spirals.shape), label),
          "circles": (circles + rng.normal(0, 0.1, circles.shape), label),
          "board": (board, np.floor(board).sum(axis=1) % 2)}
models = {"GBRFF2": rffkern.GBRFF2Classifier(1000, gamma=4.0, reg_lambda=0.0, random_state=0),
          "trees": rffkern.FourierBoostingClassifier(base_learners=["tree"], kernel_ridge=False, random_state=0)}

axes = plt.subplots(2, 3, figsize=(7, 4.8), layout="constrained")[1]
for row, (title, model) in zip(axes, models.items(), strict=True):
    for ax, (name, (X, y)) in zip(row, tables.items(), strict=True):
        model.fit(X[:500], y[:500])
        xs, ys = (np.linspace(low, high, 80) for low, high in zip(X.min(axis=0), X.max(axis=0), strict=True))
        p = model.predict_proba(np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2))[:, 1].reshape(80, 80)
        ax.contourf(xs, ys, p, levels=[0, 0.5, 1], colors=["#c8553d", "#2f6690"], alpha=0.5)
        ax.scatter(*X[:500].T, c=np.where(y[:500], "#2f6690", "#c8553d"), s=2)
        ax.set(title=f"{title}, {name}: {100 * model.score(X[500:], y[500:]):.1f} %", xticks=[], yticks=[])
plt.show()
