"""Where training rows are.  Training asks them for sums and samples alone, and does not know whether they are here."""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._rows.row_blocks import RowBlocks
from ..._rows.scaling import Scaling, scaling_in_threads
from ..._rows.threads import check_n_threads
from ..._rows.tiles import TILE
from .loss_states import LossState
from .packed_rows import RowSource, pack_rows
from .recipe import LandmarkRows, Recipe
from .subsets import Division, Subsets, divide_rows
from .workspace import EvaluationWorkspace, Sizes, TrainingWorkspace

Double = NDArray[np.float64]

_LARGEST_INT32 = 2**31 - 1


class Plan(NamedTuple):
    """How rows are to be prepared."""

    recipe: Recipe[Any]
    scaling: Scaling
    max_samples: int | None
    precision: str
    single_length: float  # rows longer than this need double precision


class Standing(NamedTuple):
    """What the rounds work on."""

    outputs: list[LossState]
    eval_outputs: dict[str, list[LossState]]  # of each set of held-out rows by its name
    intercepts: Double  # (n_outputs,)
    subsets: Subsets
    workspace: TrainingWorkspace
    landmarks: LandmarkRows


class Ground(Protocol):
    """Training rows, wherever they are."""

    n_features: int
    n_outputs: int

    def scaling(self, standardize: bool) -> Scaling:
        """Mean and spread of the columns."""

    def stand(self, plan: Plan, rng: "np.random.Generator") -> Standing:
        """Pack the rows, divided into subsets by draws of `rng`; called once."""


def subset_sizes(max_samples: int | None, n_rows: int) -> tuple[int, int]:
    """Number of subsets that rows are divided into, and the tiles of the largest."""
    n_tiles = -(-n_rows // TILE)
    if max_samples is None or n_rows <= max_samples:
        return 1, n_tiles
    n_subsets = -(-n_rows // (max_samples // TILE * TILE))
    return n_subsets, -(-n_tiles // n_subsets)


def _permutation(n_rows: int, is_compact: bool, rng: "np.random.Generator") -> NDArray[np.integer[Any]]:
    """A permutation of the rows, the same in either form: in 4 bytes a row, or as kernels take it."""
    dtype: type[np.integer[Any]] = np.int32 if is_compact and n_rows <= _LARGEST_INT32 else np.intp
    order: NDArray[np.integer[Any]] = np.arange(n_rows, dtype=dtype)
    rng.shuffle(order)
    return order


class LocalRows:
    """Checked rows that are here, in memory or read by blocks, and sets of such rows held out."""

    def __init__(self, rows: Any, held_out: dict[str, Any], n_threads: int | None) -> None:
        self._X, self._weights, self._targets = rows.X, rows.weights, rows.targets()  # without the class indices
        self._held_out, self._given_threads = held_out, n_threads
        self._n_threads = check_n_threads(n_threads, math.prod(self._X.shape))
        self.n_features, self.n_outputs = self._X.shape[1], len(self._targets)

    def scaling(self, standardize: bool) -> Scaling:
        """Mean and spread of the columns."""
        return scaling_in_threads(self._X, self._weights, standardize, self._n_threads)

    def stand(self, plan: Plan, rng: "np.random.Generator") -> Standing:
        """Pack the rows, divided into subsets by draws of `rng`."""
        recipe, scaling, n_rows = plan.recipe, plan.scaling, self._weights.n_positive
        n_subsets, largest = subset_sizes(plan.max_samples, n_rows)
        search_threads = min(self._n_threads, check_n_threads(self._given_threads, largest * TILE * self.n_features))
        source = RowSource(self._X, self._weights, scaling, self._n_threads)
        order = _permutation(n_rows, isinstance(self._X, RowBlocks), rng) if n_subsets > 1 else None
        division = Division(n_subsets, order)
        rows, subsets = divide_rows(source, division, plan.precision, plan.single_length)
        workspace = recipe.make_workspace(rows, Sizes(recipe.n_components, self._n_threads, largest, search_threads))
        intercepts = np.empty(self.n_outputs)
        outputs: list[LossState] = []
        for k, target in enumerate(self._targets):
            intercepts[k] = recipe.loss.intercept(recipe.loss.target_sums(target, self._weights))
            outputs.append(recipe.loss(rows, target, intercepts[k], workspace))
        self._targets = []
        eval_outputs = {name: self._stand_aside(plan, held_out, intercepts, rows.dtype)
                        for name, held_out in self._held_out.items()}
        return Standing(outputs, eval_outputs, intercepts, subsets, workspace, source)

    def _stand_aside(self, plan: Plan, held_out: Any, intercepts: Double, dtype: np.dtype[Any]) -> list[LossState]:
        """Loss state of each output on checked rows that are held out, before the first round."""
        recipe, n_threads = plan.recipe, check_n_threads(self._given_threads, math.prod(held_out.X.shape))
        rows = pack_rows(RowSource(held_out.X, held_out.weights, plan.scaling, n_threads), dtype)
        workspace = EvaluationWorkspace(rows, Sizes(recipe.n_components, n_threads))
        return [recipe.loss(rows, target, intercept, workspace)
                for target, intercept in zip(held_out.targets(), intercepts, strict=True)]
