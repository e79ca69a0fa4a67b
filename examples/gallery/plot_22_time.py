"""
Time against rows
=================

Seconds of a fit with default parameters, on the machine that built this page: compare the lines, not the seconds.
`docs/cost.md` has measurements of larger tables.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import rffkern

rng = np.random.default_rng(0)
sizes = [200, 600, 2000]
for model, style in ((rffkern.GBRFF2Classifier(), "o-"), (rffkern.RFFNetClassifier(max_epochs=5, n_restarts=1), "s--"),
                     (rffkern.FourierBoostingClassifier(kernel_ridge=False, n_estimators=100), "^:")):
    seconds = []
    for n in sizes:
        X = rng.normal(size=(n, 10))
        start = time.perf_counter()
        model.fit(X, X[:, 0] * X[:, 1] > 0)
        seconds.append(time.perf_counter() - start)
    plt.loglog(sizes, seconds, style, label=type(model).__name__)
plt.xlabel("rows")
plt.ylabel("seconds")
plt.legend()
plt.show()
