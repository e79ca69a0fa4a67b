"""The function that members make together."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms, LinearTerms, Part, TreeTerms
from ..._model.table_layout import UNREACHED, reachable_values
from ..._rows.scaling import Scaling
from .member import Member
from .rows import Columns
from .terms import Line, Pair, Table

Double = NDArray[np.float64]


class Ensemble(NamedTuple):
    """The mean of members."""

    expansion: Expansion
    rounds: Double  # (n_terms,) the round of its member, from 1, in which each term was taken, cosines before tables


def to_ensemble(members: Sequence[Member], columns: Columns, scaling: Scaling, intercept: Double,
                scale: Double) -> Ensemble:
    """The mean of the members as a function of unscaled rows; scores are in units of `scale`."""
    n_features, share = len(scaling.center), 1 / len(members)
    taken = [(each.term, each.step * share, t) for member in members for t, each in enumerate(member.taken, 1)]
    pairs = [each for each in taken if isinstance(each[0], Pair)]
    tables = [each for each in taken if isinstance(each[0], Table)]
    n_outputs = len(intercept)
    slopes = np.zeros((n_features, n_outputs))
    for term, step, _ in taken:
        if isinstance(term, Line):
            slopes += step * term.slopes
    waves = [_cosines(pair, step, n_features) for pair, step, _ in pairs]
    omegas, phases, amplitudes = (np.concatenate([np.empty(shape), *(wave[k] for wave in waves)]) for k, shape
                                  in enumerate([(0, n_features), (0,), (0, n_outputs)]))
    depth = max((len(table.columns) for table, *_ in tables), default=1)
    bins = columns.bins
    asked, thresholds = np.zeros((2, len(tables), depth))
    for t, (table, *_) in enumerate(tables):
        asked[t] = bins.columns[table.columns]
        thresholds[t] = [_threshold(bins.edges[j], cut) for j, cut in zip(table.columns, table.cuts, strict=True)]
    raw = asked.astype(np.intp)
    width = np.where(scaling.inverse_scale > 0, scaling.inverse_scale, 1.0)[raw]
    with np.errstate(over="ignore"):
        thresholds = np.clip(thresholds / width + scaling.center[raw], -UNREACHED, UNREACHED)
    values = (step * scale * table.values for table, step, _ in tables)
    parts: list[Part] = []
    if pairs:
        parts.append(FourierTerms(omegas * scaling.inverse_scale, phases, amplitudes * scale))
    if slopes.any():
        parts.append(LinearTerms(scaling.inverse_scale[:, None] * slopes * scale))
    if tables:
        parts.append(TreeTerms(asked, thresholds, reachable_values(asked, thresholds, values, n_outputs)))
    lower, upper = columns.bounds
    expansion = Expansion(intercept, scaling.center, *parts, lower=lower, upper=upper)
    rounds = [np.repeat(t, len(wave[1])) for (*_, t), wave in zip(pairs, waves, strict=True)]
    return Ensemble(expansion, np.concatenate([np.empty(0), *rounds, [t for *_, t in tables]]))


def _threshold(edges: Double, cut: int) -> float:
    """The bound of a cut; one that no row is above, for a depth that tells nothing."""
    return float(edges[cut]) if cut < len(edges) else math.inf


def _cosines(pair: Pair, step: float, n_features: int) -> tuple[Double, Double, Double]:
    """Omegas, phases and amplitudes of a pair: one cosine for one output, a cosine and a sine for several."""
    n_outputs = pair.amplitudes.shape[1]
    if n_outputs == 1:
        cosine, sine = pair.amplitudes[:, 0]
        phases, amplitudes = np.array([math.atan2(sine, cosine)]), np.array([[step * math.hypot(cosine, sine)]])
    else:
        phases, amplitudes = np.array([0.0, math.pi / 2]), step * pair.amplitudes
    omegas = np.zeros((len(phases), n_features))
    omegas[:, pair.columns] = pair.omega
    return omegas, phases, amplitudes
