"""What a family brings to training: its loss, its scratch memory and its search of weak learners."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._rows.scaling import Scaling
from .loss_states import LossState
from .rounds import Addition, Search
from .subsets import Subsets
from .workspace import Sizes, TileShape, TrainingWorkspace

Double = NDArray[np.float64]

Workspace = TypeVar("Workspace", bound=TrainingWorkspace)


class SearchSetting(NamedTuple, Generic[Workspace]):
    """What weak learners are fitted with."""

    subsets: Subsets  # taken in turn by the rounds
    workspace: Workspace
    draws: Double  # (n_estimators, n_outputs, n_components, n_features) omegas
    gamma: float


class LandmarkRows(Protocol):
    """Training rows, wherever they are, of which landmarks can be drawn."""

    @property
    def given_total(self) -> float:
        """Sum of the weights as they were given."""

    def draw(self, rng: "np.random.Generator", n_draws: int) -> Double:
        """Standardised rows, drawn with replacement by their weight; uses n_draws uniform numbers."""


class FittedRounds(NamedTuple):
    """The rounds that a fitted model keeps."""

    rounds: Sequence[Sequence[Addition]]  # for each round, what it adds to each output
    scaling: Scaling
    draws: Double  # (n_estimators, n_outputs, n_components, n_features) omegas of all rounds


def no_more_attributes(kept: FittedRounds) -> dict[str, Any]:
    """Where a family has no fitted attributes of its own."""
    return {}


class Recipe(NamedTuple, Generic[Workspace]):
    """What a family brings to training.

    `make_search` may draw landmarks from the rows, which are not kept afterwards.
    """

    loss: type[LossState]
    make_workspace: Callable[[TileShape, Sizes], Workspace]
    make_search: Callable[[SearchSetting[Workspace], LandmarkRows, "np.random.Generator"], Search]
    n_components: int = 1  # cosines in a weak learner
    attributes: Callable[[FittedRounds], dict[str, Any]] = no_more_attributes  # beyond those of all families
