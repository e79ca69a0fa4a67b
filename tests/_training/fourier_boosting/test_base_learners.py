"""Base learners."""

from typing import get_args

import numpy as np
import pytest

from rffkern import Expansion, FourierBoostingClassifier, FourierBoostingRegressor, InvalidInputError
from rffkern._native import boosting
from rffkern._rows.scaling import no_scaling
from rffkern._training.fourier_boosting import base_learners
from rffkern._training.fourier_boosting.base_learners import LEARNERS, BaseLearner, LinearLearner, TreeLearner
from rffkern._training.fourier_boosting.binning import bin_columns
from rffkern._training.fourier_boosting.losses import Loss, class_loss
from rffkern._training.fourier_boosting.parameters import BASE_LEARNERS, LOSSES, BaseLearnerName, defaults_for
from rffkern._training.fourier_boosting.training_rows import Columns, LocalRows, RowOrder

SIZES = defaults_for(500)._replace(fourier_rate=0.3, tree_rate=0.3, amplitude_ridge=0.05, max_samples=16384)


def problem(target, n_columns=4, n=500, n_classes=None):
    """Columns, and the state of a squared loss of a function of them, or of a softmax."""
    values = np.random.default_rng(0).standard_normal((n_columns, n)).astype(np.float32)
    every = np.arange(n_columns)
    columns = Columns(values, every, every, *bin_columns(values, every), values.min(axis=1), values.max(axis=1))
    order = RowOrder.of(np.arange(n * 4 // 5), np.arange(n * 4 // 5, n), np.random.default_rng(0))
    targets = np.atleast_2d(target(values.astype(float)))
    weights = np.ones(n)
    kind = Loss(LOSSES["squared_error"]) if n_classes is None else class_loss(n_classes)
    loss = kind.data(targets, weights)
    return columns, LocalRows.of(columns, loss, weights, order)


def test_every_name_has_a_base_learner():
    assert [*LEARNERS] == [*BASE_LEARNERS] == [*get_args(BaseLearnerName)]


@pytest.mark.parametrize(("name", "target"), [
    ("fourier", lambda x: np.sin(2 * x[1])), ("tree", lambda x: np.where(x[1] > 0.3, 1.0, -1.0)),
    ("linear", lambda x: 3 * x[1])])
def test_terms_lower_the_loss_of_both_parts(name, target):
    columns, state = problem(target)
    kind, rng, first = LEARNERS[name](columns, SIZES, state), np.random.default_rng(0), state.losses
    for _ in range(60):
        term = kind.fit(state, rng)
        if term is not None:
            kind.record_term(term, kind.rate)
            state.add_step(kind.rate)
    assert state.losses.train < 0.3 * first.train
    assert state.losses.validation < 0.4 * first.validation
    assert kind.relevances.argmax() == 1
    assert kind.relevances[1] > 0.5 * kind.relevances.sum()


@pytest.mark.parametrize("name", [*LEARNERS])
def test_directions_are_what_a_term_adds_to_the_function(name):
    columns, state = problem(lambda x: np.array([x[1] + np.sin(x[2]), x[0] * x[3]]))
    learner = LEARNERS[name](columns, SIZES, state)
    term = learner.fit(state, np.random.default_rng(1))
    part, _ = learner.part([(term, 1.0, 1)], columns, no_scaling(4), np.ones(2))
    expected = Expansion([0.0, 0.0], np.zeros(4), part).score(state.columns.T.astype(float)).T
    np.testing.assert_allclose(state.directions, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["tree", "linear"])
def test_a_constant_target_has_nothing_to_learn(name):
    columns, state = problem(lambda x: np.ones(x.shape[1]))
    term = LEARNERS[name](columns, SIZES, state).fit(state, np.random.default_rng(0))
    assert term is None or not state.directions.any()


def add_relevances(learner, columns, values):
    boosting.add_relevances(learner.relevances, np.arange(len(learner.relevances)), columns, values, 1.0)
    learner._n_terms += 1


def sets_of(learner, rng, n_sets):
    return np.array([learner._sample_columns(rng).copy() for _ in range(n_sets)])


def of_twelve(x):
    """Classes that follow from one column, as evenly as can be; of the last there is no row."""
    return np.minimum((x[2] + 2) * 2.75, 10).astype(int).clip(0, 10)


def test_trees_of_many_classes_have_leaf_values_of_all():
    columns, state = problem(of_twelve, n_classes=12)
    learner = TreeLearner(columns, SIZES._replace(samples_outputs=True), state)
    term = learner.fit(state, np.random.default_rng(1))
    leaves = sum((state.bins[j, : state.n_train] > b).astype(int) << level
                 for level, (j, b) in enumerate(zip(term.columns, term.threshold_bins, strict=True)))
    gradient, hessian = (np.stack([np.bincount(leaves, row[: state.n_train], 1 << learner._depth) for row in rows])
                         for rows in (state.gradient, state.hessian))
    np.testing.assert_allclose(term.values, (gradient / (hessian + 1)).T, rtol=1e-12)
    assert (np.abs(term.values).max(axis=0)[:11] > 0.1).all()


def test_splits_are_searched_for_classes_of_which_there_is_something_to_learn():
    columns, state = problem(of_twelve, n_classes=12)
    learner, rng = TreeLearner(columns, SIZES._replace(samples_outputs=True), state), np.random.default_rng(0)
    state.gradient[4] *= 0.01
    drawn = np.array([learner._sample_outputs(state, rng) for _ in range(1000)])
    assert drawn.shape == (1000, 4)
    assert (np.diff(drawn) > 0).all()
    share = np.bincount(drawn.ravel(), minlength=12) / 1000
    assert share[[4, 11]].max() < 0.02
    assert share[[0, 1, 2, 3, 5, 6, 7, 8, 9, 10]].min() > 0.15
    every = TreeLearner(columns, SIZES, state)
    np.testing.assert_array_equal(every._sample_outputs(state, None), np.arange(12))


def test_columns_are_drawn_by_what_they_were_good_for():
    chances = BaseLearner(50, 0.3, 1.0)
    rng = np.random.default_rng(0)
    even = sets_of(chances, rng, 4000)
    assert even.any(axis=1).all()
    assert np.ptp(even.mean(axis=0)) < 0.1
    for _ in range(base_learners._FEWEST_TERMS):
        add_relevances(chances, np.array([7, 7]), np.array([1.0, 2.0]))
    drawn = sets_of(chances, rng, 1000).mean(axis=0)
    assert drawn[7] > 0.7 > 0.4 > np.delete(drawn, 7).max()
    assert chances.relevances[7] == 3 * base_learners._FEWEST_TERMS


def test_no_set_is_filled_up_with_columns_that_were_good_for_nothing():
    """Two columns that were good are drawn together, mostly without the other three; before, all come alike."""
    chances, rng = BaseLearner(5, 0.3, 1.0), np.random.default_rng(0)
    before = sets_of(chances, rng, 4000)
    assert before.sum(axis=1).min() == 1
    assert before.all(axis=1).mean() > 0.05
    for _ in range(base_learners._FEWEST_TERMS):
        add_relevances(chances, np.array([1, 4]), np.array([1.0, 1.0]))
    drawn = sets_of(chances, rng, 4000)
    both = drawn[drawn[:, [1, 4]].all(axis=1)]
    assert len(both) > 0.5 * len(drawn)
    assert both[:, [0, 2, 3]].any(axis=1).mean() < 0.3
    assert drawn.any(axis=1).all()


@pytest.mark.slow
def test_lines_of_wide_tables_read_the_columns_that_tell_most():
    columns, state = problem(lambda x: x[700], n_columns=900, n=300)
    line = LinearLearner(columns, SIZES, state).fit(state, None)
    assert len(line.columns) == base_learners._MOST_LINEAR_COLUMNS
    assert line.columns[np.abs(line.coefficients[0]).argmax()] == 700


def test_a_column_of_which_rounding_leaves_less_than_no_variance_is_no_line_of_others():
    gram = np.array([[-1e-17, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(base_learners._distinct_columns(gram, np.zeros(2, dtype=np.intp)), [0, 1])


def test_weights_beside_which_other_rows_are_rounding_are_refused():
    draw = np.random.default_rng(201)
    draw.choice(3)
    rows, y, weights = draw.standard_normal((10, 2)), draw.standard_normal(10), 10 ** draw.uniform(-40, 4, 10)
    weights[draw.integers(10)] = 1e4
    model = FourierBoostingRegressor(2, n_bags=2, kernel_ridge=False, random_state=0)
    with pytest.raises(InvalidInputError, match="sample_weight must not differ so much"):
        model.fit(rows, y, weights)


# --- screening: one column of hundreds is found, and noise is left alone


@pytest.mark.parametrize("target", ["threshold", "line", "classes"])
def test_one_column_of_many_is_found(target):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 200))
    y = {"threshold": (X[:, 7] > 0.7) + 0.1 * rng.standard_normal(1200),
         "line": X[:, 7] + 0.4 * rng.standard_normal(1200),
         "classes": (X[:, 7] > 0.3).astype(int)}[target]
    make = FourierBoostingClassifier if target == "classes" else FourierBoostingRegressor
    model = make(100, n_bags=2, kernel_ridge=False, random_state=0).fit(X[:200], y[:200])
    # 0.88, 0.85 and 0.996; without screening 0.38, 0.59 and 0.974.
    assert model.score(X[200:], y[200:]) > {"threshold": 0.75, "line": 0.75, "classes": 0.98}[target]
    assert model.feature_importances_.argmax() == 7


@pytest.mark.parametrize("weighted", [False, True])
def test_noise_alone_stays_noise(weighted):
    """No column passes: chances are equal, and nothing is learned that is not there."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((80, 40)), rng.standard_normal(80)
    weights = rng.integers(1, 4, 80).astype(float) if weighted else None
    model = FourierBoostingRegressor(50, n_bags=2, random_state=0).fit(X, y, weights)
    assert np.std(model.predict(rng.standard_normal((500, 40)))) < 0.5


@pytest.mark.parametrize("y", [np.zeros(30), np.r_[np.zeros(29), 1.0], np.arange(30.0)])
def test_targets_and_columns_of_all_kinds_are_screened(y):
    """Constant targets and columns, columns that are the same, and one that is the target."""
    X = np.column_stack([np.zeros(30), *[np.arange(30.0)] * 9, np.random.default_rng(0).standard_normal((30, 10))])
    model = FourierBoostingRegressor(20, n_bags=2, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
