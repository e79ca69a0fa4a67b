"""Members side by side on threads, and the function that they make together."""

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._data.scaling import Scaling
from ..term_expansion import TermExpansion
from .bins import Bins
from .kinds import Line, Pair, Table
from .member import Member

Double = NDArray[np.float64]

# Seconds after which the main thread looks at signals while members are trained beside it.
_LOOK = 0.1


def in_threads(jobs: Sequence[Callable[[], Member]], n_threads: int, stop: threading.Event) -> list[Member]:
    """Results of the jobs, in their order.  Where one fails, or a signal comes, `stop` tells the others to end."""
    if n_threads == 1 or len(jobs) == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            while not all(future.done() for future in futures):
                for future in futures:
                    if future.done():
                        future.result()  # or its error, which ends the others
                    else:
                        threading.Event().wait(0)  # lets signals in
                        _wait(future)
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise


def _wait(future: Any) -> None:
    try:
        future.result(timeout=_LOOK)
    except TimeoutError:
        if future.done():
            raise


class Terms(NamedTuple):
    """Arrays of a `TermExpansion` in units of the rows that members learn from."""

    omegas: Double
    phases: Double
    amplitudes: Double
    table_columns: Double
    thresholds: Double
    table_values: Double


def to_expansion(members: Sequence[Member], bins: Bins, scaling: Scaling, intercept: Double,
                 scale: Double) -> TermExpansion:
    """The mean of the members as a function of unscaled rows; scores are in units of `scale`."""
    n_features, share = len(scaling.center), 1 / len(members)
    taken = [each for member in members for each in member.taken]
    pairs = [(each.term, each.step * share) for each in taken if isinstance(each.term, Pair)]
    tables = [(each.term, each.step * share) for each in taken if isinstance(each.term, Table)]
    n_outputs = len(intercept)
    slopes = np.zeros((n_features, n_outputs))
    for each in taken:
        if isinstance(each.term, Line):
            slopes += each.step * share * each.term.slopes
    waves = [_cosines(pair, step, n_features) for pair, step in pairs]
    omegas, phases, amplitudes = (np.concatenate([np.empty(shape), *(wave[k] for wave in waves)]) for k, shape
                                  in enumerate([(0, n_features), (0,), (0, n_outputs)]))
    depth = max((len(table.columns) for table, _ in tables), default=1)
    columns, thresholds = np.zeros((2, len(tables), depth))
    values = np.empty((len(tables), n_outputs << depth))
    for t, (table, step) in enumerate(tables):
        columns[t] = bins.columns[table.columns]
        thresholds[t] = [_threshold(bins.edges[j], cut) for j, cut in zip(table.columns, table.cuts, strict=True)]
        values[t] = (step * scale * table.values).reshape(-1)
    raw = columns.astype(np.intp)
    width = np.where(scaling.inverse_scale > 0, scaling.inverse_scale, 1.0)[raw]
    thresholds = np.clip(thresholds / width + scaling.center[raw], -_LARGEST, _LARGEST)
    return TermExpansion(omegas * scaling.inverse_scale, phases, amplitudes * scale, intercept, scaling.center,
                         scaling.inverse_scale[:, None] * slopes * scale, columns, thresholds, values)


_LARGEST = 1e300


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
