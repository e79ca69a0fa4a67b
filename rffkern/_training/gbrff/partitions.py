"""Training on rows in partitions: what each keeps where it is, and the steps of boosting over all of them.

A round sends each partition two queries an output: for the sums that the step follows from, and after the step for the
loss, with the residuals of the next sample.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._estimator.checkpoints import RowFingerprints, sources_of_draws
from ..._estimator.monitor import TimeLimit
from ..._native.array_types import Double, NDArray
from ..._rows.scaling import Scaling, no_scaling, scaling_from
from ..._rows.threads import check_n_threads
from ..._rows.tiles import DOUBLE, SINGLE, TILE, pack, tiled
from ..._rows.training_rows import Training
from ..._rows.weights import RowWeights
from ..distributed.partition import Partition
from ..distributed.partitions import ColumnSums, PartitionBackend, PartitionedTable, check_tables, refuse_values
from .boosting import N_SOURCES, Callback, boost
from .losses import LocalRows, Sums
from .packed_rows import PackedRows, Sample, n_samples_of, tile_weights
from .weak_learners import WeakLearner

SampleRows = tuple[NDArray[Any], Double | None]  # packed rows, and their weights where these differ


def fit_partitions(model: Any, training: PartitionBackend, evaluation: Mapping[str, PartitionBackend],
                   callback: Callback | None, column_map: Any = None) -> None:
    """Fit a boosted model on rows in partitions, which were opened by `open_partition`, mapped if there is a map."""
    model._check_params()
    limit = TimeLimit(model.max_seconds)
    refuse_values(model, {"warm_start": [False], "validation_fraction": [None]})
    data = PartitionedData(check_tables(model, training, evaluation, column_map), model.n_jobs)
    model._keep(boost(model, data, callback, *sources_of_draws(model, N_SOURCES, None), limit))


# Where the rows are.

def longest_row(part: Partition, scaling: Scaling) -> float:
    """The largest length of a row."""
    return pack(part.rows.X, scaling, SINGLE, part.n_threads)[1]


def target_sums(part: Partition, loss: type[LocalRows]) -> list[Sums]:
    """The sums from which the intercept of each output follows."""
    return [loss.target_sums(target, part.rows.weights) for target in part.rows.targets()]


class PackedPartition:
    """Rows of a partition in tiles, with the scores of each output, divided into shares of the samples."""

    def __init__(self, part: Partition, scaling: Scaling, dtype: np.dtype[Any], n_samples: int, seed: int) -> None:
        self._number, rows, self._n_threads = part.number, part.rows, part.n_threads
        self._tiles, self._weights, self._targets = (
            pack(rows.X, scaling, dtype, self._n_threads)[0], rows.weights, rows.targets())
        n_rows = len(rows.X)
        order = np.arange(n_rows)
        if n_samples > 1:
            order = np.random.default_rng([seed, self._number]).permutation(n_rows)
        self._shares = [np.sort(order[t * n_rows // n_samples : (t + 1) * n_rows // n_samples])
                        for t in range(n_samples)]
        self._outputs: list[LocalRows] = []  # of each
        self._direction: tuple[int, WeakLearner] | None = None  # the output and the term that was last evaluated

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: rows as they are packed, without the scores."""
        return vars(self) | {"_outputs": [], "_direction": None}

    @property
    def has_scores(self) -> bool:
        """Whether there are scores."""
        return len(self._outputs) > 0

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return int(self._tiles.nbytes)

    # Commands.

    def begin(self, loss: type[Any], intercepts: Double, n_components: int) -> None:
        """Set H = H_0 at all rows."""
        rows = PackedRows(self._tiles, self._weights, n_components, self._n_threads)
        self._outputs = [loss(rows, target, intercept)
                         for target, intercept in zip(self._targets, intercepts, strict=True)]

    def add_step(self, output: int, learner: WeakLearner, step: float) -> None:
        """Add step h to the scores of an output."""
        self._directed(output, learner).add_step(step)
        self._direction = None

    # Queries.

    def direction_sums(self, output: int, learner: WeakLearner) -> Sums:
        """The sums of a weak learner that its step follows from."""
        return self._directed(output, learner).direction_sums

    def derivatives(self, output: int, learner: WeakLearner, step: float) -> Sums:
        """First and second derivative of the sum of losses after a step along a weak learner."""
        return self._directed(output, learner).derivatives(step)

    def losses(self, output: int, sample: int | None, with_rows: bool) -> tuple[float, float, Any, SampleRows | None]:
        """Sum of the losses of an output, its largest residual, and residuals, and rows, of the share of a sample."""
        rows, residuals = self._outputs[output], None
        if sample is not None:
            residuals = rows.residuals_in(slice(0, len(self._tiles))).reshape(-1)[self._shares[sample]]
        return (rows.loss * self._weights.total, rows.largest_residual, residuals,
                self.sample_rows(sample) if with_rows and sample is not None else None)

    def sample_rows(self, sample: int) -> SampleRows:
        """Packed rows of the share of a sample, and their weights where these differ."""
        share = self._shares[sample]
        return self._packed(share), None if self._weights.is_uniform else self._weights.each[share]

    def rows_at(self, places: Sequence[tuple[int, float]]) -> NDArray[Any]:
        """Packed rows at places given as a partition and a cumulative weight in it, of those in this partition."""
        wanted = np.array([weight for number, weight in places if number == self._number])
        reached = np.cumsum(self._weights.each)
        return self._packed(np.searchsorted(reached, wanted, side="right").clip(max=len(reached) - 1))

    def _packed(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self._tiles[rows // TILE, :, rows % TILE]

    def _directed(self, output: int, learner: WeakLearner) -> Any:
        """The rows of an output with a weak learner as direction, evaluated unless it was the last one too."""
        rows = self._outputs[output]
        if self._direction is not None:
            known, direction = self._direction
            if known == output and all(map(np.array_equal, direction[:3], learner[:3])):
                return rows
        rows.set_direction(learner)
        self._direction = output, learner
        return rows


# Where the model is trained.

class PartitionedSamples:
    """Samples of rows in partitions, equal shares of each; that which was last asked for is held here."""

    def __init__(self, table: PartitionedTable, n_samples: int, dtype: np.dtype[Any], n_jobs: int | None) -> None:
        self._table, self._n_samples = table, n_samples
        largest = max(sum((t + 1) * n // n_samples - t * n // n_samples for n in table.n_rows)
                      for t in range(n_samples))
        self.n_features, self.dtype, self.largest_sample = table.n_features, dtype, -(-largest // TILE)
        self._n_threads = check_n_threads(n_jobs, largest * self.n_features)
        self._held: Sample | None = None

    def sample(self, t: int) -> Sample:
        """The sample of round t."""
        index = self.index(t)
        if self._held is None or self._held.rows != index:
            return self.hold(index, self._table.query("sample_rows", index))
        return self._held

    def index(self, t: int) -> int:
        """The number of the sample of round t."""
        return t % self._n_samples

    def holds(self, index: int) -> bool:
        """Whether the rows of a sample are here."""
        return self._held is not None and self._held.rows == index

    def hold(self, index: int, found: Sequence[SampleRows]) -> Sample:
        """Hold the rows of a sample, in place of those of another."""
        rows = np.concatenate([tiles for tiles, _ in found])
        values = [weights for _, weights in found if weights is not None]
        weights = RowWeights(len(rows), np.concatenate(values) if values else None)
        tiles, _ = pack(rows, no_scaling(self.n_features), self.dtype, self._n_threads)
        self._held = Sample(tiles, tile_weights(weights, self.dtype), weights.total, index)
        return self._held


class PartitionedRows:
    """Rows in partitions with the scores of one output, which stay where the rows are, as `LocalRows` are here."""

    def __init__(self, table: PartitionedTable, output: int, loss: type[LocalRows], samples: PartitionedSamples | None,
                 is_last: bool = False) -> None:
        self._table, self._output, self._loss = table, output, loss
        self._samples = samples  # None for evaluation sets
        self._is_last = is_last  # of the outputs, after which all go on to another sample
        self._n_steps = 0
        self._learner: WeakLearner | None = None
        self._update()

    def residuals(self, sample: Sample) -> NDArray[Any]:
        """Residuals of a sample, in tiles; the last step brought them along if the sample comes next."""
        if sample.rows != self._sampled:
            self._update(sample.rows)
        return tiled(self._residuals, sample.tiles.dtype)

    def set_direction(self, learner: WeakLearner) -> None:
        """Let the next step go along a weak learner."""
        self._learner = learner

    def best_step(self) -> float:
        """Alpha of the direction."""
        def sums_of(query: str, *arguments: Any) -> Sums:
            first, second = self._table.sum_over_rows(query, self._output, self._learner, *arguments).tolist()
            return first, second

        return self._loss.step_from(sums_of("direction_sums"), lambda step: sums_of("derivatives", step))

    def add_step(self, step: float) -> None:
        """Add step h to H, where the rows are."""
        self._table.command("add_step", self._output, self._learner, step)
        self._n_steps += 1
        self._update()

    def _update(self, sample: int | None = None) -> None:
        """Query the loss, and the residuals of the sample that comes next, with its rows where they are not here."""
        samples, with_rows = self._samples, False
        if samples is not None:
            sample = samples.index(self._n_steps) if sample is None else sample
            with_rows = self._is_last and not samples.holds(sample)
        losses, largest, residuals, rows = zip(
            *self._table.query("losses", self._output, sample, with_rows), strict=True)
        self.loss, self.largest_residual = math.fsum(losses) / self._table.total, max(largest)
        self._sampled = sample
        if samples is not None and sample is not None:
            self._residuals = np.concatenate(residuals)
            if with_rows:
                samples.hold(sample, rows)


class PartitionedData:
    """Checked training rows and evaluation sets in partitions, as `LocalData` has them here."""

    reference: dict[str, Any] | None = None
    prints: RowFingerprints | None = None

    def __init__(self, training: Training, n_jobs: int | None) -> None:
        self.names, self._table, self.center, self.scale, _, self.classes, sets, self.column_map, _ = training
        self._sets, self._n_jobs = dict(sets), n_jobs
        self.n_features, self.n_outputs = self._table.n_features, self.center.size
        self.given_weight = self._table.given_total

    def scaling(self, standardize: bool) -> Scaling:
        """Mean and spread of the columns."""
        return scaling_from(ColumnSums(self._table, "X"), standardize)

    def pack(self, loss: type[LocalRows], n_components: int, scaling: Scaling, max_samples: int | None, precision: str,
             single_length: float,
             rng: "np.random.Generator") -> tuple[list[Any], dict[str, list[Any]], Double, PartitionedSamples]:
        """Rows of each output, of each evaluation set, their intercepts, and the samples."""
        table, outputs = self._table, range(self.n_outputs)
        n_samples = n_samples_of(max_samples, sum(table.n_rows))
        dtype: np.dtype[Any] = DOUBLE
        if precision == "single" and max(table.query("map_rows", longest_row, scaling)) <= single_length:
            dtype = SINGLE
        sums = table.sum_over_rows("map_rows", target_sums, loss)
        intercepts = np.array([loss.intercept((first, second)) for first, second in sums.tolist()])
        seed = int(rng.integers(1 << 62)) if n_samples > 1 else 0
        for each, *shares in ((table, n_samples, seed), *((held_out, 1, 0) for held_out in self._sets.values())):
            each.command("convert", PackedPartition, scaling, dtype, *shares)
            each.command("begin", loss, intercepts, n_components)
        samples = PartitionedSamples(table, n_samples, dtype, self._n_jobs)
        rows: list[Any] = [PartitionedRows(table, k, loss, samples, k == self.n_outputs - 1) for k in outputs]
        evaluation: dict[str, list[Any]] = {name: [PartitionedRows(each, k, loss, None) for k in outputs]
                                            for name, each in self._sets.items()}
        return rows, evaluation, intercepts, samples

    def draw(self, rng: "np.random.Generator", n_draws: int, scaling: Scaling) -> Double:
        """Standardised rows, drawn with replacement by their weight; uses n_draws uniform numbers."""
        table = self._table
        ends = np.cumsum(table.totals)
        wanted = rng.random(n_draws) * ends[-1]
        indices = np.searchsorted(ends, wanted, side="right").clip(max=len(ends) - 1)
        inside = wanted - (ends - table.totals)[indices]
        numbers = [summary.number for summary in table.summaries]
        places = [(numbers[index], weight) for index, weight in zip(indices.tolist(), inside.tolist(), strict=True)]
        found = table.query("rows_at", places)
        rows = np.empty((n_draws, found[0].shape[1]))
        for index, block in enumerate(found):
            rows[indices == index] = block
        return rows
