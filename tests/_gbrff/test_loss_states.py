"""Steps that minimise the exponential loss itself."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from rffkern._gbrff.workspace import Sizes, TrainingWorkspace

from rffkern._data.scaling import Scaling
from rffkern._data.weights import RowWeights
from rffkern._gbrff.loss_states import CosineSum, ExactStepLossState, ExponentialLossState
from rffkern._gbrff.packed_rows import RowSource
from rffkern._gbrff.subsets import Division, divide_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=st.integers(0, 2**32 - 1), n_samples=st.sampled_from([1, 3, 129, 2049]),
       n_components=st.sampled_from([1, 5]))
def test_exact_steps_minimise_the_loss(dtype, seed, n_samples, n_components):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 4)).astype(dtype).astype(np.float64)
    y = np.where(rng.random(n_samples) < 0.5, 1.0, -1.0)
    weight = rng.uniform(0.1, 2, n_samples).astype(dtype).astype(np.float64)
    learner = CosineSum(rng.standard_normal((n_components, 4)), rng.uniform(-np.pi, np.pi, n_components),
                        rng.dirichlet(np.ones(n_components)))
    source = RowSource(X, RowWeights(n_samples, weight), Scaling(np.zeros(4), np.ones(4), 1.0), 1)
    rows, _ = divide_rows(source, Division(1, None), "single" if dtype is np.float32 else "double", np.inf)
    state = ExactStepLossState(rows, y, 0.0, TrainingWorkspace(rows, Sizes(n_components, 1, rows.n_tiles, 1)))
    evaluation = state.evaluate(learner)
    step, closed = state.step(evaluation), ExponentialLossState.step(state, evaluation)
    h = reference.cosine_sum(X, *learner)
    value = lambda step: reference.loss_along_step(y, weight, 0.0, h, step)[0]
    assert abs(step) <= 9.4
    assert value(step) <= min(map(value, (0.0, closed, step - 0.01, step + 0.01))) * (1 + 1e-5) or abs(step) > 9.3
