"""Training on rows in partitions, wherever these are."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._rows.scaling import Scaling, no_scaling, scaling_from
from ..._rows.threads import check_n_threads
from ..._rows.tiles import DOUBLE, SINGLE, TILE, pack, tiled
from ..._rows.weights import RowWeights
from ...errors import InvalidInputError
from ..distributed.partitions import ColumnSums, PartitionedTable, Partitions
from .ground import Plan, Standing, subset_sizes
from .loss_states import CosineSum, LossState, Products
from .packed_partition import PackedPartition, Sample, longest_row, target_sums
from .packed_rows import TileWeights
from .subsets import Subset
from .workspace import Sizes

Double = NDArray[np.float64]


def _added(pairs: Sequence[Products]) -> Products:
    """The sum of pairs, in their order."""
    first = second = 0.0
    for one, other in pairs:
        first, second = first + one, second + other
    return first, second


class _RemoteEvaluation(NamedTuple):
    """A weak learner at rows elsewhere."""

    learner: CosineSum
    products: Products


class _RemoteState:
    """The loss state of an output on rows in partitions."""

    def __init__(self, table: PartitionedTable, output: int, loss: type[LossState], samples: "_Samples | None",
                 is_last: bool = False) -> None:
        self.is_squared = loss.is_squared
        self.largest_residual = 0.0
        self._partitions, self._total, self._output, self._loss = table.partitions, table.total, output, loss
        self._samples = samples  # that its residuals belong to; None for rows held out
        self._is_last = is_last  # of the outputs, after which all go on to another sample
        self._n_updates = 0
        self._look()

    @property
    def values(self) -> Any:
        """Predictions stay where their rows are."""
        raise InvalidInputError("warm_start must be False where rows are in partitions, got True")

    def sample(self, subset: int) -> NDArray[Any]:
        """Residuals of a subset, which the last update brought along if it comes next."""
        if subset != self._sampled:
            self._look(subset)
        return self._sample

    def _look(self, subset: int | None = None) -> None:
        """Ask where the output stands, and for its residuals of the subset that is searched next, with their rows."""
        samples, with_rows = self._samples, False
        if samples is not None:
            subset = self._n_updates % len(samples) if subset is None else subset
            with_rows = self._is_last and not samples.holds(subset)
        found = self._partitions.query("standing", self._output, subset, with_rows)
        losses, largest, residuals, rows = zip(*found, strict=True)
        self.loss, self.largest_residual = math.fsum(losses) / self._total, max(largest)
        self._sampled = subset
        if samples is not None and subset is not None:
            self._sample = np.concatenate(residuals)
            if with_rows:
                samples.hold(subset, rows)

    def evaluate(self, learner: CosineSum) -> _RemoteEvaluation:
        """Evaluate a weak learner at all rows; where rows are held out, that waits for the update."""
        if self._samples is None:
            return _RemoteEvaluation(learner, (0.0, 0.0))
        return _RemoteEvaluation(learner, _added(self._partitions.query("products", self._output, learner)))

    def step(self, evaluation: _RemoteEvaluation) -> float:
        """The factor to add a weak learner with."""

        def along(step: float) -> Products:
            return _added(self._partitions.query("along", self._output, evaluation.learner, step))

        return self._loss.step_from(evaluation.products, along)

    def update(self, evaluation: _RemoteEvaluation, step: float) -> None:
        """Add step times a weak learner to the predictions."""
        self._partitions.command("advance", self._output, evaluation.learner, step)
        self._n_updates += 1
        self._look()


class _SampleShape(NamedTuple):
    """The largest subset, which is searched here."""

    n_tiles: int
    n_features: int
    dtype: np.dtype[Any]


class _Samples:
    """Subsets of rows in partitions; that which was last asked for is held here."""

    def __init__(self, partitions: Partitions, n_subsets: int, shape: _SampleShape, n_threads: int) -> None:
        self._partitions, self._n_subsets, self._shape, self._n_threads = partitions, n_subsets, shape, n_threads
        self._held: dict[int, Subset] = {}  # one of them

    def __len__(self) -> int:
        return self._n_subsets

    def __getitem__(self, index: int) -> Subset:
        if not self.holds(index):
            self.hold(index, self._partitions.query("sample", index))
        return self._held[index]

    def holds(self, index: int) -> bool:
        """Whether the rows of a subset are here."""
        return index in self._held

    def hold(self, index: int, found: Sequence[Sample]) -> None:
        """Hold the rows of a subset, in place of those of another."""
        self._held = {index: self._packed(index, found)}

    def _packed(self, index: int, found: Sequence[Sample]) -> Subset:
        blocks, weights = zip(*found, strict=True)
        rows, dtype = np.concatenate(blocks), self._shape.dtype
        values = None if weights[0] is None else np.concatenate(weights)
        weight = TileWeights(RowWeights(len(rows), values), dtype)
        tiles, _ = pack(rows, no_scaling(self._shape.n_features), dtype, self._n_threads)
        return Subset(tiles, weight.tiled, weight.total, partial(_residuals, index, dtype))


def _residuals(index: int, dtype: np.dtype[Any], state: Any) -> NDArray[Any]:
    """Residuals of a subset, in tiles."""
    return tiled(state.sample(index), dtype)


class _LandmarkRows:
    """Rows in partitions, of which landmarks are drawn."""

    def __init__(self, table: PartitionedTable) -> None:
        self._partitions, self._summaries, self._totals = table.partitions, table.summaries, table.totals
        self.given_total = table.given_total

    def draw(self, rng: "np.random.Generator", n_draws: int) -> Double:
        """Standardised rows, drawn with replacement by their weight; uses n_draws uniform numbers."""
        ends = np.cumsum(self._totals)
        wanted = rng.random(n_draws) * ends[-1]
        indices = np.searchsorted(ends, wanted, side="right").clip(max=len(ends) - 1)
        inside = wanted - (ends - self._totals)[indices]
        numbers = [summary.number for summary in self._summaries]
        places = [(numbers[index], weight) for index, weight in zip(indices.tolist(), inside.tolist(), strict=True)]
        found = self._partitions.query("drawn", places)
        rows = np.empty((n_draws, found[0].shape[1]))
        for index, block in enumerate(found):
            rows[indices == index] = block
        return rows


class PartitionedRows:
    """Training rows in partitions, and sets of such rows held out: a `Ground`."""

    def __init__(self, table: PartitionedTable, held_out: Mapping[str, PartitionedTable], n_outputs: int,
                 n_threads: int | None) -> None:
        self._table, self._held_out, self._given_threads = table, held_out, n_threads
        self.n_features, self.n_outputs = table.summaries[0].n_features, n_outputs

    def scaling(self, standardize: bool) -> Scaling:
        """Mean and spread of the columns."""
        return scaling_from(ColumnSums(self._table.partitions, "X", self._table.total), standardize)

    def stand(self, plan: Plan, rng: "np.random.Generator") -> Standing:
        """Pack the rows, divided into subsets of equal shares of the partitions by draws of `rng`."""
        recipe, table, partitions = plan.recipe, self._table, self._table.partitions
        n_subsets, _ = subset_sizes(plan.max_samples, sum(table.n_rows))
        dtype: np.dtype[Any] = DOUBLE
        if plan.precision == "single":
            longest = max(partitions.query("map_rows", longest_row, plan.scaling))
            dtype = SINGLE if longest <= plan.single_length else DOUBLE
        sums = zip(*partitions.query("map_rows", target_sums, recipe.loss), strict=True)
        intercepts = np.array([recipe.loss.intercept(_added(output)) for output in sums])
        self._start(table, plan, dtype, intercepts, n_subsets, int(rng.integers(1 << 62)) if n_subsets > 1 else 0)
        for held_out in self._held_out.values():
            self._start(held_out, plan, dtype, intercepts, 1, 0)
        largest = max(sum((t + 1) * n // n_subsets - t * n // n_subsets for n in table.n_rows)
                      for t in range(n_subsets))
        shape = _SampleShape(-(-largest // TILE), self.n_features, dtype)
        n_threads = check_n_threads(self._given_threads, largest * self.n_features)
        workspace = recipe.make_workspace(shape, Sizes(recipe.n_components, n_threads, shape.n_tiles, n_threads))
        samples = _Samples(partitions, n_subsets, shape, n_threads)
        outputs: list[Any] = [_RemoteState(table, k, recipe.loss, samples, k == self.n_outputs - 1)
                              for k in range(self.n_outputs)]
        eval_outputs: dict[str, list[Any]] = {
            name: [_RemoteState(held_out, k, recipe.loss, None) for k in range(self.n_outputs)]
            for name, held_out in self._held_out.items()}
        return Standing(outputs, eval_outputs, intercepts, samples, workspace, _LandmarkRows(table))

    def _start(self, table: PartitionedTable, plan: Plan, dtype: np.dtype[Any], intercepts: Double, n_subsets: int,
               seed: int) -> None:
        table.partitions.command("convert", PackedPartition, plan.scaling, dtype, n_subsets, seed)
        table.partitions.command("start", plan.recipe.loss, intercepts, plan.recipe.n_components)
