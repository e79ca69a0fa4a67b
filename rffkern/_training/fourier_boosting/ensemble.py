"""The function that the terms of all bags make together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._model.expansion import Expansion
from ..._rows.scaling import Scaling
from .base_learners import BASE_LEARNERS
from .boosting import Bag
from .sparse_columns import SparseLinearLearner
from .training_rows import Columns

Double = NDArray[np.float64]


def mean_of_bags(bags: Sequence[Bag], shares: Double, columns: Columns, scaling: Scaling, intercept: Double,
                 scale: Double) -> tuple[Expansion, Double]:
    """The mean of the bags as a function of unscaled rows, and the round of each of its terms, cosines before trees.

    Shares of bags sum to 1; a bag whose share is 0 is left out.  Scores are in units of `scale`.  Rounds
    count from 1 in each bag.
    """
    steps = [(term, step * share, t) for bag, share in zip(bags, shares.tolist(), strict=True) if share
             for t, (term, step) in enumerate(bag.steps, 1)]
    # Several may fit terms of one kind.
    learners = {learner.term: learner for learner in (*BASE_LEARNERS.values(), SparseLinearLearner)}
    made = [learner.part([each for each in steps if isinstance(each[0], term)], columns, scaling, scale)
            for term, learner in learners.items()]
    parts = [part for part, _ in made if part is not None]
    center, lower, upper, sparse = scaling.center, columns.lower, columns.upper, columns.sparse
    if sparse is not None:
        parts = [sparse.widened(part) for part in parts]
        center, lower, upper = sparse.center, sparse.of_all(lower, sparse.lower), sparse.of_all(upper, sparse.upper)
    expansion = Expansion(intercept, center, *parts, lower=lower, upper=upper)
    return expansion, np.concatenate([np.array(rounds, dtype=np.float64) for _, rounds in made])
