"""The sum of what members and a kernel ridge regression predict, with weights from rows that neither has learned from.

Of classes the score is w0 H + w1 F, with H the score of the members and F = slope f + shifts the kernel ridge
regression f as its own calibration makes it a score.  The weights have the largest likelihood, with a prior: w0 + w1 is
near 1, as if `_PRIOR_ROWS` rows said so, and w1 near 0, as if one row did.  In units of F this prior is as weak for
many classes of which all rows are right as for others: in units of f it held the kernel ridge regression down there.
Of values the score is H + w (f - H), with w of least squares in [0, 1].
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._native import boosting, solvers
from ..kernel_ridge.calibration import calibrated, every_class, log_losses
from .calibration import held_out
from .kernel_choice import LEAST_SHARE, STANDARD_ERRORS, KernelChoice, Reason
from .kernel_learning import Learning
from .kernel_part import Boosting, KernelPart

Double = NDArray[np.float64]

_PRIOR_ROWS, _PRIOR_OF_KERNEL = 50.0, 1.0

# Held-out rows of some regions, from which on these say whether the others are worth learning.
_FEWEST_JUDGES = 100

STACKED_LOSSES = (boosting.LOGISTIC, boosting.SOFTMAX, boosting.SQUARED)


class Stack(NamedTuple):
    """The score: terms H + kernels (sum of kernels) + shifts, each (n_outputs,)."""

    terms: Double
    kernels: Double
    shifts: Double
    part: KernelPart | None  # None where the kernel ridge regression is left out
    choice: KernelChoice


class _Weights(NamedTuple):
    """A stack of some rows, and the loss of each row without it and with it."""

    terms: Double
    kernels: Double
    shifts: Double
    alone: Double
    stacked: Double


def without_kernels(factor: float, n_outputs: int, reason: Reason) -> Stack:
    """The scores of the members times a factor."""
    zeros = np.zeros(n_outputs)
    return Stack(np.full(n_outputs, factor), zeros, zeros, None, KernelChoice(reason))


def stacked(given: Boosting, factor: float, is_asked: bool, n_threads: int | None) -> Stack:
    """Train a kernel ridge regression, and add it to the members where it gains enough or is asked for.

    Parameters
    ----------
    given : Boosting
    factor : float
        What scores of the members are multiplied by without it.
    is_asked : bool
        Whether it is taken however little it gains.
    n_threads : int or None
    """
    learning = Learning(given, n_threads)
    if learning.n_regions > 1 and not is_asked:
        part = learning.part(learning.some_regions())
        rows, _ = held_out(given.members, given.layouts, given.weights)
        if part.covers(given.columns, rows).sum() >= _FEWEST_JUDGES:
            tried = _with(part, given, factor, is_asked, n_threads)
            if tried.part is None:
                return tried
    return _with(learning.part(range(learning.n_regions)), given, factor, is_asked, n_threads)


def _with(part: KernelPart, given: Boosting, factor: float, is_asked: bool, n_threads: int | None) -> Stack:
    """The stack with a kernel ridge regression, judged on the held-out rows of the regions that it has."""
    rows, held = held_out(given.members, given.layouts, given.weights)
    held = held[:, : len(rows)]
    covered = part.covers(given.columns, rows)
    rows, held = rows[covered], held[:, covered]
    margins, weights = held.astype(np.float64), given.weights[rows]
    predictions = part.predictions(given.columns, rows, n_threads)
    if given.problem.kernel == boosting.SQUARED:
        found = _of_values(margins, predictions - given.targets(rows), weights, part.intercepts)
    else:
        codes = given.problem.targets[rows].astype(np.intp)
        codes = np.maximum(codes, 0)  # of two classes they are -1 and 1
        found = _of_classes(margins, predictions, codes, weights, factor, part.intercepts)
    gains, total = found.alone - found.stacked, weights.sum()
    alone, after = float(weights @ found.alone / total), float(weights @ found.stacked / total)
    gain = alone - after
    error = float(np.sqrt((weights**2 * (gains - gain) ** 2).sum()) / total)
    is_good = gain > 0 and gain >= LEAST_SHARE * alone and gain >= STANDARD_ERRORS * error
    reason = Reason.LITTLE
    if found.kernels.any() and (is_asked or is_good):
        reason = Reason.ASKED if is_asked else Reason.GAINS
    choice = KernelChoice(reason, alone, after, part.scale, part.reg_lambda)
    if reason == Reason.LITTLE:
        return without_kernels(factor, len(margins), reason)._replace(choice=choice)
    return Stack(found.terms, found.kernels, found.shifts, part, choice)


def _of_values(residuals: Double, others: Double, weights: Double, intercepts: Double) -> _Weights:
    """The stack of values, from what bags and kernel ridge regression predict less the targets, (n_outputs, n_rows)."""
    differences = others - residuals
    squares = (weights * differences**2).sum(axis=1)
    products = -(weights * differences * residuals).sum(axis=1)
    share = np.clip(np.divide(products, squares, out=np.zeros_like(squares), where=squares > 0), 0, 1)
    rest = residuals + share[:, None] * differences
    return _Weights(1 - share, share, share * intercepts, (residuals**2).mean(axis=0), (rest**2).mean(axis=0))


def _of_classes(margins: Double, predictions: Double, codes: NDArray[np.intp], weights: Double, factor: float,
                intercepts: Double) -> _Weights:
    """The stack of classes, from scores of bags and predictions of kernel ridge regression, (n_outputs, n_rows)."""
    calibration = calibrated(predictions, codes, weights)
    scores = calibration.slope * predictions + calibration.shifts[:, None]
    of_terms, of_kernels = _likeliest(margins, scores, codes, weights)
    alone, together = (log_losses(every_class(each), codes)[0] for each in (
        factor * margins, of_terms * margins + of_kernels * scores))
    one = np.ones(len(margins))
    shifts = of_kernels * (calibration.slope * intercepts + calibration.shifts)
    return _Weights(of_terms * one, of_kernels * calibration.slope * one, shifts, alone, together)


def _likeliest(margins: Double, scores: Double, codes: NDArray[np.intp], weights: Double) -> tuple[float, float]:
    """The weights of two scores, neither below 0."""
    def of(free: list[int], start: list[float]) -> Double:
        def loss(x: Double) -> tuple[float, Double]:
            both = np.zeros(2)
            both[free] = x
            losses, slopes = log_losses(every_class(both[0] * margins + both[1] * scores), codes)
            away = both.sum() - 1
            value = (weights * losses).sum() + 0.5 * (_PRIOR_ROWS * away**2 + _PRIOR_OF_KERNEL * both[1] ** 2)
            slopes = weights * slopes[-len(scores) :]
            along = [(margins * slopes).sum(), (scores * slopes).sum() + _PRIOR_OF_KERNEL * both[1]]
            return float(value), (np.array(along) + _PRIOR_ROWS * away)[free]

        x, _, _ = solvers.minimize(loss, np.array(start), 100, loss_tolerance=1e-10, gradient_tolerance=1e-6,
                                   noise=1e-12)
        found = np.zeros(2)
        found[free] = x
        return found

    found = of([0, 1], [1.0, 0.0])
    if found[1] <= 0:
        return 1.0, 0.0
    if found[0] < 0:
        found = of([1], [1.0])
    return float(found[0]), float(found[1])
