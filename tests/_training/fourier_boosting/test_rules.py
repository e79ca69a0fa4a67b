"""The rule in the number of rows."""

import itertools

import numpy as np
import pytest

from rffkern._training.fourier_boosting.rules import Pace, rules

SIZES = np.unique(np.geomspace(2, 10_000_000, 2000).astype(int))


def test_known_sizes():
    assert rules(1000)._asdict() == pytest.approx({
        "n_bags": 10, "n_folds": 5, "patience": 100, "depth": 3, "pair_rate": 0.15, "table_rate": 0.025,
        "reg_lambda": 6e-4, "size": 0})
    assert rules(30_000)._asdict() == pytest.approx({
        "n_bags": 2, "n_folds": 10, "patience": 200, "depth": 11, "pair_rate": 0.2, "table_rate": 0.12,
        "reg_lambda": 2e-5, "size": 1})
    assert rules(2).n_bags == 10
    assert rules(2).size == 0
    assert rules(10_000_000).size == 1
    assert rules(10_000_000).n_bags == 1


def test_no_breaks():
    """Between neighbouring sizes whole numbers change by one at most, and the others by little."""
    for a, b in itertools.pairwise(map(rules, SIZES)):
        for name in ("n_bags", "n_folds", "depth"):
            assert abs(getattr(a, name) - getattr(b, name)) <= 1
        for name in ("pair_rate", "table_rate", "patience"):
            assert getattr(a, name) == pytest.approx(getattr(b, name), rel=0.05)
        assert a.size == pytest.approx(b.size, abs=0.01)


def test_factors_go_from_those_of_few_rows_to_those_of_many():
    pace = Pace((2.0, 4.0), (0.5, 1.0), 0.01)
    assert pace.factors(0.0) == (2.0, 4.0)
    assert pace.factors(0.5) == pytest.approx((1.0, 2.0))
    assert pace.factors(1.0) == pytest.approx((0.5, 1.0))


def test_more_rows_ask_for_no_less():
    for a, b in itertools.pairwise(map(rules, SIZES)):
        assert a.n_bags >= b.n_bags
        assert a.n_folds <= b.n_folds
        assert a.depth <= b.depth
        assert a.reg_lambda >= b.reg_lambda
