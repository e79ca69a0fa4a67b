"""What GBRFF does with the rows of a partition: it keeps them in tiles, with their predictions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._rows.scaling import Scaling
from ..._rows.tiles import SINGLE, TILE, pack
from ..distributed.partition import PartitionRows
from .loss_states import CosineSum, Evaluation, LossState, Products
from .packed_rows import RowsInMemory
from .workspace import EvaluationWorkspace, Sizes

Double = NDArray[np.float64]
Sample = tuple[NDArray[Any], Double | None]  # packed rows, and their weights where these differ


def longest_row(part: PartitionRows, scaling: Scaling) -> float:
    """The largest length of a row."""
    return pack(part.rows.X, scaling, SINGLE, part.n_threads)[1]


def target_sums(part: PartitionRows, loss: type[LossState]) -> list[Products]:
    """The sums that the intercept of each output follows from."""
    return [loss.target_sums(target, part.rows.weights) for target in part.rows.targets()]


class PackedPartition:
    """Rows of a partition in tiles, divided into shares of the subsets."""

    def __init__(self, part: PartitionRows, scaling: Scaling, dtype: np.dtype[Any], n_subsets: int, seed: int) -> None:
        self._number, rows, self._n_threads = part
        self._tiles, self._weights, self._targets = (
            pack(rows.X, scaling, dtype, self._n_threads)[0], rows.weights, rows.targets())
        n_rows = len(rows.X)
        order = np.arange(n_rows)
        if n_subsets > 1:
            order = np.random.default_rng([seed, self._number]).permutation(n_rows)
        self._shares = [np.sort(order[t * n_rows // n_subsets : (t + 1) * n_rows // n_subsets])
                        for t in range(n_subsets)]
        self._states: list[LossState] = []
        self._evaluated: tuple[int, CosineSum, Evaluation] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What travels: rows as they are packed.  The predictions are made anew from the commands."""
        return vars(self) | {"_states": [], "_evaluated": None}

    @property
    def has_scores(self) -> bool:
        """Whether there are predictions."""
        return len(self._states) > 0

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return int(self._tiles.nbytes)

    # Commands.

    def start(self, loss: type[LossState], intercepts: Double, n_components: int) -> None:
        """Predict the intercepts."""
        rows = RowsInMemory(self._tiles, self._weights)
        workspace = EvaluationWorkspace(rows, Sizes(n_components, self._n_threads))
        self._states = [loss(rows, target, intercept, workspace)
                        for target, intercept in zip(self._targets, intercepts, strict=True)]

    def advance(self, output: int, learner: CosineSum, step: float) -> None:
        """Add step times a weak learner to the predictions of an output."""
        self._states[output].update(self._evaluation(output, learner), step)
        self._evaluated = None

    # Questions.

    def sample(self, subset: int) -> Sample:
        """Packed rows of the share of a subset, and their weights where these differ."""
        share = self._shares[subset]
        weights = None if self._weights.is_uniform else self._weights.each[share]
        return self._packed(share), weights

    def drawn(self, places: Sequence[tuple[int, float]]) -> NDArray[Any]:
        """Packed rows at places given as a partition and a cumulative weight in it, of those in this partition."""
        wanted = np.array([weight for number, weight in places if number == self._number])
        reached = np.cumsum(self._weights.each)
        return self._packed(np.searchsorted(reached, wanted, side="right").clip(max=len(reached) - 1))

    def _packed(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self._tiles[rows // TILE, :, rows % TILE]

    def standing(self, output: int, subset: int | None,
                 with_rows: bool) -> tuple[float, float, NDArray[Any] | None, Sample | None]:
        """Sum of the losses of an output, its largest residual, and residuals, and rows, of the share of a subset."""
        state: Any = self._states[output]
        residuals = rows = None
        if subset is not None:
            residuals = state.residuals_in(slice(0, len(self._tiles))).reshape(-1)[self._shares[subset]]
            rows = self.sample(subset) if with_rows else None
        return state.loss * self._weights.total, getattr(state, "largest_residual", 0.0), residuals, rows

    def products(self, output: int, learner: CosineSum) -> Products:
        """Sums over the rows of a weak learner, as the loss defines them."""
        return self._evaluation(output, learner).products

    def along(self, output: int, learner: CosineSum, step: float) -> tuple[float, float]:
        """Slope and curvature of the sum of losses after a step along a weak learner."""
        return self._states[output].along(self._evaluation(output, learner), step)

    def _evaluation(self, output: int, learner: CosineSum) -> Evaluation:
        """A weak learner at all rows; that which was last asked for is kept."""
        if self._evaluated is not None:
            of, known, evaluation = self._evaluated
            if of == output and all(map(np.array_equal, known[:3], learner[:3])):
                return evaluation
        evaluation = self._states[output].evaluate(learner)
        self._evaluated = output, learner, evaluation
        return evaluation
