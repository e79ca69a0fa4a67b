"""The function that the terms of all bags make together."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms, LinearTerms, Part, TreeTerms
from ..._model.tree_layout import UNREACHED, reachable_values
from ..._rows.scaling import Scaling
from .boosting import Bag
from .terms import FourierTerm, LinearTerm, TreeTerm
from .training_rows import Columns

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Indices = NDArray[np.intp]


def mean_of_bags(bags: Sequence[Bag], columns: Columns, scaling: Scaling, intercept: Double,
                 scale: Double) -> tuple[Expansion, Double]:
    """The mean of the bags as a function of unscaled rows, and the round of each of its terms, cosines before trees.

    Scores are in units of `scale`.  Rounds count from 1 in each bag.
    """
    n_features, n_outputs, share = len(scaling.center), len(intercept), 1 / len(bags)
    rounds = [(term, step * share, t) for bag in bags for t, (term, step) in enumerate(bag.steps, 1)]

    coefficients = np.zeros((n_features, n_outputs))
    for term, step, _ in rounds:
        if isinstance(term, LinearTerm):
            coefficients += step * term.coefficients

    omegas, phases, amplitudes, term_rounds = [np.empty((0, n_features))], [np.empty(0)], [np.empty((0, n_outputs))], [
        np.empty(0)]
    for term, step, t in rounds:
        if isinstance(term, FourierTerm):
            if n_outputs == 1:  # one cosine
                cosine, sine = term.amplitudes[:, 0]
                phase, amplitude = np.array([math.atan2(sine, cosine)]), np.array([[step * math.hypot(cosine, sine)]])
            else:  # a cosine and a sine
                phase, amplitude = np.array([0.0, math.pi / 2]), step * term.amplitudes
            omega = np.zeros((len(phase), n_features))
            omega[:, term.columns] = term.omega
            omegas.append(omega)
            phases.append(phase)
            amplitudes.append(amplitude)
            term_rounds.append(np.repeat(float(t), len(phase)))

    trees = [(term, step, t) for term, step, t in rounds if isinstance(term, TreeTerm)]
    depth = max((len(tree.columns) for tree, *_ in trees), default=1)
    split_columns, thresholds = np.zeros((2, len(trees), depth))
    for k, (tree, *_) in enumerate(trees):
        split_columns[k] = columns.binned[tree.columns]
        # No row is above a bin beyond the last edge, that of a depth at which nothing is split.
        thresholds[k] = [columns.edges[j][b] if b < len(columns.edges[j]) else math.inf
                         for j, b in zip(tree.columns, tree.threshold_bins, strict=True)]
    raw = split_columns.astype(np.intp)
    width = np.where(scaling.inverse_scale > 0, scaling.inverse_scale, 1.0)[raw]
    with np.errstate(over="ignore"):
        thresholds = np.clip(thresholds / width + scaling.center[raw], -UNREACHED, UNREACHED)
    parts: list[Part] = []
    if len(omegas) > 1:
        parts.append(FourierTerms(np.concatenate(omegas) * scaling.inverse_scale, np.concatenate(phases),
                                  np.concatenate(amplitudes) * scale))
    if coefficients.any():
        parts.append(LinearTerms(scaling.inverse_scale[:, None] * coefficients * scale))
    if trees:
        values = reachable_values(split_columns, thresholds, (step * scale * tree.values for tree, step, _ in trees),
                                  n_outputs)
        parts.append(TreeTerms(split_columns, thresholds, values))
    expansion = Expansion(intercept, scaling.center, *parts, lower=columns.lower, upper=columns.upper)
    return expansion, np.concatenate([*term_rounds, np.array([t for *_, t in trees], dtype=np.float64)])
