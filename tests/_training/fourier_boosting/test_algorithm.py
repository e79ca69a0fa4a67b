"""The algorithm of docs/algorithms/fourier_boosting.md, in plain NumPy, trains the models of the package."""

import pathlib
import runpy

import numpy as np
import pytest
from helpers import fourier_boosting_reference as reference

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor
from rffkern._training.fourier_boosting.parameters import BASE_LEARNERS

# The package keeps scores, gradients and angles in single precision, the reference in double.  A Fourier term follows
# from ten iterations of L-BFGS, which turn differences of 1e-7 into some of 1e-5 where the loss is nearly flat.  In
# these cases scores differ by 1e-7 to 1e-5 of their standard deviation at each instruction set.  A rate, a ridge or a
# penalty that is wrong by a hundredth makes it 1e-3 and more, another order of random draws 0.1.
TOLERANCE = 1e-4


@pytest.mark.parametrize(("n_samples", "n_features", "loss", "seed", "constraints", "n_bags", "jump"), [
    *((*each, 2, 1) for each in [
        (200, 4, "squared_error", 3, {}), (200, 4, "squared_error", 5, {}), (200, 4, "log_loss", 2, {}),
        (1500, 4, "squared_error", 8, {}), (1500, 4, "log_loss", 3, {}), (60, 20, "squared_error", 2, {}),
        (60, 20, "log_loss", 2, {}), (60, 20, "log_loss", 3, {}),
        (200, 4, "squared_error", 3, {"sets": [[0, 1], [1, 2], [3]]}), (200, 4, "log_loss", 2, {"signs": [0, 1, 0, 0]}),
        (200, 4, "squared_error", 4, {"sets": [[0], [1], [2], [3]], "signs": [-1, 0, 0, 0]})]),
    # Half of the bags are of trees alone: on the folds of the others, or as many as there are folds.
    (200, 4, "squared_error", 3, {}, 8, 9), (200, 4, "log_loss", 3, {}, 9, 4), (100, 4, "squared_error", 3, {}, 10, 9)])
def test_the_reference_trains_the_same_model(n_samples, n_features, loss, seed, constraints, n_bags, jump):
    rng = np.random.default_rng(seed)
    X, noise = rng.standard_normal((n_samples, n_features)), 0.3 * rng.standard_normal(n_samples)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + jump * (X[:, 2] > 0.3) + noise
    if loss == "log_loss":
        y = np.where(y > np.median(y), 1.0, -1.0)
    make = FourierBoostingRegressor if loss == "squared_error" else FourierBoostingClassifier
    # Beyond 30 rounds base learners are sampled.  Blocks of rows are drawn where a bag has more rows than max_samples,
    # or 1,024.  Some rows that are scored lie outside the training range.
    model = make(45, n_bags=n_bags, base_learners=(*BASE_LEARNERS,), columns=None, kernel_ridge=False,
                 max_samples=512, early_stopping_rounds=1000, interaction_constraints=constraints.get("sets"),
                 monotone_constraints=constraints.get("signs"), random_state=seed).fit(X, y)
    score = reference.fit(X, y, getattr(reference, loss), 45, n_bags, seed, max_samples=512, **constraints)
    rows = 1.5 * rng.standard_normal((500, n_features))
    expected = score(rows)
    scores = model.predict(rows) if loss == "squared_error" else model.decision_function(rows)
    assert expected.std() > 0.3
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE * expected.std())


@pytest.mark.parametrize("n_features", [1, 3])
def test_a_hundred_lines_train_the_same_model(rng, n_features):
    """The example is short, and beyond 100 rounds its model is that of the package, early stopping included."""
    path = pathlib.Path(__file__).parents[3] / "examples" / "fourier_boosting.py"
    lines = path.read_text(encoding="utf-8").partition("if __name__")[0].splitlines()
    assert sum(bool(line) for line in lines) <= 100
    X, rows = rng.uniform(-2, 2, (100, n_features)), rng.uniform(-3, 3, (50, n_features))
    y = np.sin(3 * X[:, 0]) + X[:, -1] + rng.normal(0, 0.1, 100)
    model = FourierBoostingRegressor(150, n_bags=1, base_learners=("fourier",), columns=None, kernel_ridge=False,
                                     early_stopping_rounds=20, random_state=0).fit(X, y)
    expected = runpy.run_path(str(path))["fit"](X, y, 150, seed=0, patience=20)(rows)
    np.testing.assert_allclose(model.predict(rows), expected, rtol=0, atol=TOLERANCE * expected.std())
