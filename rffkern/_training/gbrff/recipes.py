"""The recipe of each estimator: what its training does for the parameters."""

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from .cosine_search import CosineSearch
from .landmark_learner import (
    LandmarkOptions,
    PhaseLearner,
    as_printed,
    for_any_number,
    in_root_mean_squares,
    landmark_learner,
    landmarks_attribute,
)
from .loss_states import ExactStepLossState, ExponentialLossState, LossState, SquaredLossState
from .recipe import Recipe, SearchSetting
from .workspace import LandmarkWorkspace, TrainingWorkspace

if TYPE_CHECKING:
    from .gbrff1 import GBRFF1Classifier
    from .least_squares import GBRFFClassifier, GBRFFRegressor


def of_cosines(reg_lambda: float, max_iter: int) -> Recipe[TrainingWorkspace]:
    """That of GBRFF2."""

    def make_search(setting: SearchSetting[TrainingWorkspace], *_: Any) -> CosineSearch:
        return CosineSearch(reg_lambda, max_iter, setting)

    return Recipe(ExponentialLossState, TrainingWorkspace, make_search)


def of_landmarks(model: "GBRFF1Classifier") -> Recipe[Any]:
    """That of GBRFF1."""
    loss: type[LossState] = ExponentialLossState if model.step == "closed" else ExactStepLossState
    if model.n_components == 1 and model.landmarks == "learn":  # a phase has a search of its own
        return Recipe(loss, TrainingWorkspace, PhaseLearner, 1, landmarks_attribute)
    options = LandmarkOptions(model.landmarks, model.beta, math.sqrt, model.max_iter, as_printed)
    make_search = partial(landmark_learner, loss.is_squared, options)
    return Recipe(loss, LandmarkWorkspace, make_search, model.n_components, landmarks_attribute)


def of_least_squares(model: "GBRFFRegressor | GBRFFClassifier") -> Recipe[LandmarkWorkspace]:
    """That of GBRFF."""
    scale = in_root_mean_squares if model.scale_residuals else as_printed
    options = LandmarkOptions(model.landmarks, model.beta, for_any_number, model.max_iter, scale)
    make_search = partial(landmark_learner, SquaredLossState.is_squared, options)
    return Recipe(SquaredLossState, LandmarkWorkspace, make_search, model.n_components, landmarks_attribute)
