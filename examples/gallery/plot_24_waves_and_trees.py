"""
Boundaries of cosines, and of trees
===================================

Two spirals, four circles and a board of four by four cells, 500 rows each, as in Figure 5 of the paper on GBRFF2: the
boundary of 1,000 cosines, and below it that of 1,000 trees of LightGBM, whose edges follow the axes. In the second
picture those of the circles after 5, 25 and 1,000 rounds. Per cent are of right labels of new rows; `docs/papers.md`
has the accuracy by the number of rows.
"""

import lightgbm
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
          "LightGBM": lightgbm.LGBMClassifier(n_estimators=1000, verbose=-1, random_state=0)}


def panel(ax, title, X, y, right_label):
    """The boundary, where `right_label` of rows is 1, and the training rows."""
    xs, ys = (np.linspace(low, high, 80) for low, high in zip(X.min(axis=0), X.max(axis=0), strict=True))
    found = right_label(np.concatenate([np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2), X[500:]]))
    ax.contourf(xs, ys, found[:6400].reshape(80, 80), levels=[0, 0.5, 1], colors=["#c8553d", "#2f6690"], alpha=0.5)
    for label, style in ((0, "kx"), (1, "k.")):
        ax.plot(*X[:500][y[:500] == label].T, style, ms=2, mew=0.5)
    ax.set(title=f"{title}: {100 * np.mean(found[6400:] == y[500:]):.1f} %", xticks=[], yticks=[])


axes = plt.subplots(2, 3, figsize=(7.5, 5), layout="constrained")[1]
for row, (title, model) in zip(axes, models.items(), strict=True):
    for ax, (name, (X, y)) in zip(row, tables.items(), strict=True):
        panel(ax, f"{title}, {name}", X, y, model.fit(X[:500], y[:500]).predict)

X, y = tables["circles"]
cosines, trees = (model.fit(X[:500], y[:500]) for model in models.values())
axes = plt.subplots(2, 3, figsize=(7.5, 5), layout="constrained")[1]
for column, n_rounds in zip(axes.T, (5, 25, 1000), strict=True):
    few = rffkern.GBRFF2Classifier(**cosines.get_params() | {"n_estimators": n_rounds}).fit(X[:500], y[:500])
    panel(column[0], f"{n_rounds} cosines", X, y, few.predict)
    panel(column[1], f"{n_rounds} trees", X, y, lambda rows, t=n_rounds: trees.predict(rows, num_iteration=t))
plt.show()
