"""Sizes and rates that follow from the number of rows, the loss and the parameters."""

import itertools

import numpy as np
import pytest

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor
from rffkern._training.fourier_boosting.parameters import (
    LOSS_RATES,
    defaults_for,
    resolve_hyperparameters,
    with_tree_bags,
)

SIZES = np.unique(np.geomspace(2, 10_000_000, 2000).astype(int))


def test_known_sizes():
    names = ("n_bags", "n_folds", "patience", "max_depth", "fourier_rate", "tree_rate", "reg_lambda")
    for n_rows, expected in ((1000, (10, 5, 100, 3, 0.15, 0.025, 6e-4)), (30_000, (2, 10, 200, 11, 0.2, 0.12, 2e-5))):
        sizes = defaults_for(n_rows)
        assert [getattr(sizes, name) for name in names] == pytest.approx(expected)
    assert defaults_for(2).n_bags == 10
    assert defaults_for(10_000_000).n_bags == 1


def test_no_breaks():
    """Between neighbouring sizes whole numbers change by one at most, and the others by little."""
    for a, b in itertools.pairwise(map(defaults_for, SIZES)):
        for name in ("n_bags", "n_folds", "max_depth"):
            assert abs(getattr(a, name) - getattr(b, name)) <= 1
        for name in ("fourier_rate", "tree_rate", "patience"):
            assert getattr(a, name) == pytest.approx(getattr(b, name), rel=0.05)


@pytest.mark.parametrize("loss", LOSS_RATES)
def test_rates_of_a_loss_go_from_those_of_few_rows_to_those_of_many(loss):
    few, many, ridge = LOSS_RATES[loss]
    between = round(1000 * 30**0.5)
    for n_rows, share in ((2, 0.0), (1000, 0.0), (between, 0.5), (30_000, 1.0), (10_000_000, 1.0)):
        factors = np.power(few, 1 - share) * np.power(many, share)
        found, plain = resolve_hyperparameters(FourierBoostingRegressor(), n_rows, loss), defaults_for(n_rows)
        rates = found.fourier_rate / plain.fourier_rate, found.tree_rate / plain.tree_rate, found.rate_growth
        assert rates == pytest.approx(tuple(factors), rel=1e-4)
        assert found.amplitude_ridge == ridge
        assert found.samples_outputs == (loss == "softmax")


def test_more_rows_ask_for_no_less():
    for a, b in itertools.pairwise(map(defaults_for, SIZES)):
        assert a.n_bags >= b.n_bags
        assert a.n_folds <= b.n_folds
        assert a.max_depth <= b.max_depth
        assert a.reg_lambda >= b.reg_lambda


def test_more_classes_have_fewer_bags():
    found = [resolve_hyperparameters(FourierBoostingRegressor(), 600, "softmax", n).n_bags for n in range(3, 1000)]
    assert found[25 - 3] == 10
    assert found[200 - 3 :] == [4] * 800
    assert all(0 <= a - b <= 1 for a, b in itertools.pairwise(found))
    assert resolve_hyperparameters(FourierBoostingRegressor(n_bags=7), 600, "softmax", 1000).n_bags == 7


def test_parameters_take_the_place_of_rules():
    model = FourierBoostingRegressor(n_bags=3, validation_fraction=0.25, early_stopping_rounds=None)
    found = resolve_hyperparameters(model, 400, "values")
    assert (found.n_bags, found.n_folds, found.patience) == (3, 4, None)
    plain = resolve_hyperparameters(FourierBoostingRegressor(max_samples=None), 400, "log_loss")
    assert plain == defaults_for(400)._replace(amplitude_ridge=0.01, least_fall=0.0003)
    assert resolve_hyperparameters(FourierBoostingRegressor(), 2, "values").n_folds == 2


@pytest.mark.parametrize(("params", "n_tree_bags"), [
    ({}, 5), ({"n_bags": 11}, 5), ({"n_bags": 4, "validation_fraction": 0.5}, 2),
    ({"n_bags": 9}, 4), ({"n_bags": 8}, 4), ({"n_bags": 7}, 0), ({"n_bags": 9, "validation_fraction": 0.1}, 0),
    ({"base_learners": ("fourier", "tree")}, 5), ({"base_learners": ("fourier", "tree"), "n_bags": 9}, 0),
    ({"base_learners": ("tree",)}, 0), ({"base_learners": ("fourier", "linear")}, 0)])
def test_half_of_the_bags_are_trees_where_rows_enough_are_held_out_by_either_kind(params, n_tree_bags):
    model = FourierBoostingRegressor(**params)
    assert with_tree_bags(model, resolve_hyperparameters(model, 400, "values")).n_tree_bags == n_tree_bags


@pytest.mark.parametrize(("n_rows", "n_bags", "n_tree_bags"), [
    (1000, 10, 5), (1500, 10, 5), (2051, 8, 4), (3000, 5, 0), (8000, 4, 0)])
def test_beside_bags_of_trees_there_are_more_bags(n_rows, n_bags, n_tree_bags):
    """As many without linear functions, or where the number is given."""
    model = FourierBoostingRegressor()
    found = with_tree_bags(model, resolve_hyperparameters(model, n_rows, "values"))
    assert (found.n_bags, found.n_tree_bags) == (n_bags, n_tree_bags)
    for model in (FourierBoostingClassifier(), FourierBoostingRegressor(n_bags=defaults_for(n_rows).n_bags)):
        assert with_tree_bags(model, resolve_hyperparameters(model, n_rows, "values")).n_bags == (
            defaults_for(n_rows).n_bags)


@pytest.mark.parametrize(("share", "n_folds"), [(0.3, 1 / 0.3), (0.1, 10), (1 / 49, 49), (0.5, 2), (0.001, 400)])
def test_the_share_of_held_out_rows_is_what_is_asked(share, n_folds):
    found = resolve_hyperparameters(FourierBoostingRegressor(validation_fraction=share), 400, "values").n_folds
    assert (found, type(found)) == (n_folds, type(n_folds))


def test_only_bags_of_classes_end_where_the_loss_falls_by_little():
    found = [resolve_hyperparameters(model, 500, loss).least_fall for model, loss in (
        (FourierBoostingClassifier(), "log_loss"), (FourierBoostingClassifier(), "softmax"),
        (FourierBoostingClassifier(early_stopping_rounds=100), "log_loss"), (FourierBoostingRegressor(), "values"))]
    assert found == [0.0003, 0.0003, 0, 0]
