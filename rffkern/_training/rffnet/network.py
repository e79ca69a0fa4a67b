"""The network that RFFNet trains: its parameters as kernels read them, and the mini-batch steps that change them."""

import copy
import math
from typing import Any, NamedTuple

import numpy as np

from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms
from ..._native import rffnet, scoring
from ..._native.array_types import NDArray
from ..._rows.row_blocks import RowBlocks
from ..._rows.scaling import Scaling
from ..._rows.threads import check_n_threads
from ..._rows.tiles import TILE, aligned
from ..._rows.weights import RowWeights
from ...errors import InvalidInputError
from .losses import Loss

Double = NDArray[np.float64]
Indices = NDArray[np.intp]
Values = tuple[NDArray[Any], NDArray[Any]]  # coefficients and relevances, without moments

STEP_ORDERS = {"alternating": rffnet.ALTERNATING, "joint": rffnet.JOINT}

# Replaces a loss that overflows or is not a number.
LARGEST_LOSS = 1e300

# The step of a coefficient is this times the learning rate over the number of terms: all terms may move f together.
_COEFFICIENT_RATE = 23.0

# Rows are standardised and scored in pieces of about this many numbers.
_SCORED_NUMBERS = 1 << 18

_TERMS = scoring.TERM_MULTIPLES[0]


class Visit(NamedTuple):
    """Rows of one array that training passes over, once in each of some orders."""

    X: NDArray[Any]  # (n_rows, n_features)
    targets: Double  # (n_rows, n_targets)
    weight: Double  # (n_rows,), or (0,) for equal weights
    orders: list[Indices]  # of rows to visit
    total_weight: float  # of all rows visited


class StepSettings(NamedTuple):
    """The learning rate and the penalties of mini-batch steps."""

    learning_rate: float
    ridge: float  # mu, of the squared coefficients
    lasso: float  # of |relevances|


class StepPlan(NamedTuple):
    """What stays the same through all mini-batch steps of a training."""

    loss: Loss
    scaling: Scaling
    batch_size: int
    order: rffnet.StepOrder
    n_threads: int | None


class _Rates(NamedTuple):
    """Step settings in the units of the kernel, in the order of its arguments."""

    coefficients: float
    constant: float
    relevances: float
    ridge: float
    lasso: float


class Network:
    """f(x) = constant + sum over k of b_k cos(omegas[k] . (relevances * x) + offsets[k]) of standardised rows.

    The b_k are the paper's beta_k times sqrt(2 / s), the size of its features.  Adam's moments are stored with the
    coefficients and the relevances.  The constant is the coefficient of a term of angle 0, the first after the others.
    """

    def __init__(self, omegas: Double, offsets: Double, relevance: float, start: Double, dtype: type) -> None:
        self.n_terms, self.n_features = omegas.shape
        self.n_outputs, self.dtype, self.n_steps = len(start), np.dtype(dtype), 0
        padded = -(-(self.n_terms + 1) // rffnet.TERM_GROUP) * rffnet.TERM_GROUP
        shapes = ((padded, self.n_features), (padded,), (3, self.n_outputs, padded), (3, self.n_features))
        arrays = list(map(aligned, shapes, 4 * [self.dtype]))
        for array in arrays:
            array[...] = 0
        self.omegas, self.shifts, self.coefficients, self.relevances = arrays
        self.omegas[: self.n_terms] = omegas
        self.shifts[: self.n_terms] = -offsets / math.pi  # half turns
        self.coefficients[0, :, self.n_terms] = start
        self.relevances[0] = relevance

    def copy(self) -> "Network":
        """Return another, with the same values and moments."""
        return copy.deepcopy(self)

    def values(self) -> Values:
        """Return a copy of coefficients and relevances, as `restore` takes them."""
        return self.coefficients[0].copy(), self.relevances[0].copy()

    def restore(self, values: Values) -> None:
        """Set coefficients and relevances to earlier values; the moments stay."""
        self.coefficients[0], self.relevances[0] = values

    def descend(self, visit: Visit, settings: StepSettings, workspace: "Workspace") -> float:
        """Take a step on every mini-batch of the rows visited; return the sum of their weighted losses."""
        plan, total = workspace.plan, 0.0
        feature_size = math.sqrt(2 / self.n_terms)
        rate = _COEFFICIENT_RATE * settings.learning_rate / self.n_terms
        rates = _Rates(rate, rate / feature_size, settings.learning_rate / math.sqrt(self.n_features),
                       settings.ridge / feature_size**2, settings.lasso)
        for order in visit.orders:
            total += rffnet.train_rows(
                plan.loss.compiled, visit.X, order, plan.scaling.center, plan.scaling.inverse_scale, visit.targets,
                visit.weight, self.omegas, workspace.groups, self.shifts, self.coefficients, self.relevances,
                self.n_terms, plan.batch_size, self.n_steps, *rates, plan.order, *workspace.scratch)
            self.n_steps += -(-len(order) // plan.batch_size)
        return total

    def scores(self, X: Any, workspace: "Workspace") -> Double:
        """Return f at raw rows, an array or RowBlocks, shape (n_samples, n_outputs)."""
        out = np.empty((X.shape[0], self.n_outputs))
        omegas = self.omegas * (self.relevances[0] / math.pi).astype(self.dtype)
        size, center, intercept = workspace.scored_size, np.zeros(self.n_features), np.zeros(self.n_outputs)
        scaling, scratch = workspace.plan.scaling, workspace.scored
        all_used = np.empty(0, np.int32), np.empty(0, self.dtype)
        for rows, block in X.blocks() if isinstance(X, RowBlocks) else [(slice(0, len(X)), X)]:
            found = out[rows]
            for start in range(0, len(block), size):
                with np.errstate(over="ignore"):
                    some = block[start : start + size] - scaling.center
                    some *= scaling.inverse_scale
                some.clip(-rffnet.LARGEST_VALUE, rffnet.LARGEST_VALUE, out=some)  # as training does
                some = some.astype(self.dtype, copy=False).reshape(*some.shape, 1)
                scoring.score_rows(some, center, omegas, *all_used, self.shifts, self.coefficients[0], intercept,
                                   found[start : start + size], scratch, len(scratch))
        return out

    def mean_loss(self, X: Any, targets: Double, weights: RowWeights, workspace: "Workspace") -> float:
        """Return the weighted mean of the losses of raw rows, at most LARGEST_LOSS."""
        scores = self.scores(X, workspace)
        losses, slopes = np.empty(len(scores)), np.empty(scores.shape)
        rffnet.row_losses(workspace.plan.loss.compiled, scores, targets, losses, slopes)
        return min(LARGEST_LOSS, float(np.average(losses, weights=weights.values)))  # LARGEST_LOSS first: also for nan

    def relevances_of(self, scaling: Scaling) -> Double:
        """Return |relevances| of the columns, 0 for those that do not vary."""
        return np.where(scaling.inverse_scale > 0, np.abs(self.relevances[0].astype(np.float64)), 0.0)

    def expansion(self, center: Double, scale: Double, scaling: Scaling) -> Expansion:
        """Return the function of a raw row, for targets less `center` in units of `scale`."""
        n, coefficients = self.n_terms, self.coefficients[0].astype(np.float64)
        with np.errstate(over="ignore"):
            omegas = self.omegas[:n] * (self.relevances[0] * scaling.inverse_scale)
        if not np.isfinite(omegas).all():
            raise InvalidInputError("X must have columns of larger spread: omegas in its units overflow, got a spread "
                                    f"of {1 / scaling.inverse_scale.max():.3g}")
        terms = FourierTerms(omegas, math.pi * self.shifts[:n].astype(np.float64), coefficients[:, :n].T * scale)
        return Expansion(center + scale * coefficients[:, n], scaling.center, terms)


class Scratch(NamedTuple):
    """Scratch of mini-batch steps, in the order of the kernel's arguments."""

    work: NDArray[Any]  # (tiles of a batch, scratch_sizes[0])
    sums: Double  # (tiles of a batch, scratch_sizes[1])
    n_threads: int


class Workspace:
    """The plan and the memory of a network's steps and scores, beside its parameters.

    `n_scored` is the largest number of rows that will be scored in one call.
    """

    def __init__(self, network: Network, plan: StepPlan, n_scored: int) -> None:
        self.plan = plan
        padded, n_features, dtype = len(network.omegas), network.n_features, network.dtype
        n_groups, group = padded // rffnet.TERM_GROUP, rffnet.TERM_GROUP
        n_tiles = -(-plan.batch_size // TILE)
        n_reals, n_doubles = rffnet.scratch_sizes(n_features, padded, network.n_outputs, plan.batch_size)
        self.scored_size = max(TILE, _SCORED_NUMBERS // n_features)
        step_threads = check_n_threads(plan.n_threads, plan.batch_size * network.omegas.size)
        score_threads = check_n_threads(plan.n_threads, min(self.scored_size, n_scored) * network.omegas.size)
        # The omegas, transposed within each group of terms.
        self.groups = aligned((n_groups, -(-n_features // _TERMS) * _TERMS, group), dtype)
        self.scored = aligned((score_threads, n_features * TILE), dtype)
        work = aligned((n_tiles, n_reals), dtype)
        self.groups[:, :n_features] = network.omegas.reshape(n_groups, group, n_features).transpose(0, 2, 1)
        self.groups[:, n_features:] = 0
        self.scratch = Scratch(work, np.empty((n_tiles, n_doubles)), min(n_tiles, step_threads))
