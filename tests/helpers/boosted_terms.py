"""A small sum of cosines and trees whose terms read known columns."""

import numpy as np

from rffkern._model.tree_layout import UNREACHED

from .expansions import boosted_expansion


def expansion(n_outputs=1):
    """cos over columns 0, then 0 and 2; a tree of column 1, and one of columns 3 and 2."""
    rng = np.random.default_rng(0)
    omegas = np.array([[1.5, 0, 0, 0], [0.5, 0, -2.0, 0]])
    columns = np.array([[1, 0], [3, 2]])
    thresholds = np.array([[0.2, UNREACHED], [0.0, -0.5]])
    return boosted_expansion(omegas, [0.3, 1.0], rng.standard_normal((2, n_outputs)), np.arange(n_outputs) + 0.5,
                         np.zeros(4), np.zeros((4, n_outputs)), columns, thresholds,
                         rng.standard_normal((6, n_outputs)))
