"""Ensembles that grow by the update schemes, group by group."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import given_kernel, in_outputs, kernel_rows, make_settings, waves

from rffkern import SparseKernelRegressor
from rffkern._rows.scaling import no_scaling
from rffkern._rows.training_rows import TargetRows
from rffkern._rows.weights import RowWeights
from rffkern._training.sparse_kernel import ensemble as ensemble_module
from rffkern._training.sparse_kernel.ensemble import Ensemble, make_ensemble

KERNEL = given_kernel()


def values(X, learners, coef):
    """Values of base learners times their coefficients."""
    return sum(c * reference.gaussian_kernel(X, X[f.indices], KERNEL.length_scale, 1.5, 0.2) @ f.weights
               for c, f in zip(coef, learners, strict=True))


def coefficients(ensemble):
    """Those of all base learners, of the one output."""
    return np.concatenate([group.last[:, 0] for group in ensemble.groups])


def make(X, target, signs=None, weight=None, **settings):
    return Ensemble(kernel_rows(X, KERNEL, weight), in_outputs(target), (), make_settings(KERNEL, **settings),
                    np.random.default_rng(0), signs)


def of_classes(X, sign, **settings):
    """An ensemble in groups of four, which leave out rows that are fitted well."""
    return make(X, sign, sign[:, None], group_size=4, **settings)


def active_rows(ensemble):
    return ensemble._active[1]


def test_the_active_set(rng):
    """The second group learns from at most half of the rows, those of lowest margin."""
    X, y = waves(rng, 600)
    sign = np.where(y > 0, 1.0, -1.0)
    ensemble = of_classes(X, sign)
    for _ in range(5):
        assert ensemble.grow()
    margin = sign * values(X, ensemble.learners[:4], ensemble.groups[0].last[:, 0])
    n_active = min((margin < 0.5).sum(), 300)
    assert n_active > 0
    np.testing.assert_array_equal(active_rows(ensemble), np.sort(np.argsort(margin)[:n_active]))
    assert set(ensemble.learners[4].indices) <= set(active_rows(ensemble))
    idle = np.setdiff1d(np.arange(600), active_rows(ensemble))
    left = ((1 - margin[idle]) ** 2).sum() + ensemble.least_squares.training.loss
    assert ensemble.loss == pytest.approx(left / 600)


@pytest.mark.parametrize("active", [False, True])
def test_a_group_learns_what_those_before_it_leave(rng, active):
    X, y = waves(rng, 400)
    sign = np.where(y > 0, 1.0, -1.0)
    ensemble = of_classes(X, sign) if active else make(X, sign, group_size=4)
    for _ in range(9):
        assert ensemble.grow()
    model = values(X, ensemble.learners, coefficients(ensemble))
    np.testing.assert_allclose(ensemble._residual_of_all_rows().reshape(-1)[:400], sign - model, atol=1e-9)
    assert [len(group.last) for group in ensemble.groups] == [4, 4, 1]


def test_rows_without_weight_are_in_no_group(rng):
    X, y = waves(rng, 300)
    weight = (np.arange(300) % 2).astype(float)
    ensemble = of_classes(X, np.where(y > 0, 1.0, -1.0), weight=weight, max_samples=None)
    for _ in range(6):
        assert ensemble.grow()
    assert (active_rows(ensemble) % 2 == 1).all()
    assert all((learner.indices % 2 == 1).all() for learner in ensemble.learners)


def test_the_newest_alone_moves(rng):
    X, y = waves(rng, 300)
    ensemble = make(X, y, capacity=1, group_size=1)
    for n in range(1, 6):
        assert ensemble.grow()
        assert len(ensemble.groups) == n
        np.testing.assert_allclose(ensemble._residual_of_all_rows().reshape(-1)[:300],
                                   y - values(X, ensemble.learners, coefficients(ensemble)), atol=1e-9)
    assert [len(group.last) for group in ensemble.groups] == [1] * 5


@pytest.mark.parametrize(("max_samples", "n_drawn"), [(None, 60), (40, 30), (20, 20)])
def test_samples_hold_half_of_the_rows_at_most(rng, max_samples, n_drawn):
    X, y = waves(rng, 60)
    assert make(X, y, basis_size=4, max_samples=max_samples)._n_drawn == n_drawn


def test_a_full_ensemble_stays_as_it_is(rng):
    X, y = waves(rng, 300)
    ensemble = make(X, y)
    assert [ensemble.grow() for _ in range(6)] == [True] * 4 + [False] * 2
    assert len(ensemble.learners) == len(coefficients(ensemble)) == 4


@pytest.mark.parametrize(("group_size", "capacity"), [(None, 4), (1, 1), (4, 4)])
def test_an_ensemble_that_finds_nothing_stops(rng, group_size, capacity):
    ensemble = make(waves(rng, 100)[0], np.zeros(100), group_size=group_size, capacity=capacity)
    assert not ensemble.grow()
    assert ensemble.loss == 0
    ensemble.least_squares.refine()
    assert coefficients(ensemble).shape == (0,)


def made(rng, n_outputs, n_rounds, **params):
    X, y = waves(rng, 60)
    rows = TargetRows(X, np.column_stack([y, X, X**2])[:, :n_outputs], RowWeights(60))
    model = SparseKernelRegressor(**{"basis_size": 5, "max_samples": 100} | params)
    return make_ensemble(model, KERNEL._replace(reg_lambda=0.02), no_scaling(3), rows, [], n_rounds, rng)._settings


@pytest.mark.parametrize(("n_outputs", "params", "n_rounds", "expected"), [
    (1, {}, 12, (5, 1, None, 12)), (1, {"update": "one"}, 12, (5, 1, 1, 1)), (1, {"update": "group"}, 12, (5, 1, 4, 4)),
    (1, {"update": "group"}, 3, (5, 1, 4, 3)), (1, {"basis_size": 1}, 12, (1, 1, None, 12)),
    (1, {"basis_size": 10**6, "max_samples": None}, 10**8, (60, 1, None, 60)),
    (1, {"max_samples": 3}, 12, (3, 1, None, 12)),
    (4, {}, 12, (5, 2, None, 24)), (4, {"update": "one"}, 12, (5, 2, 1, 2)), (4, {"update": "group"}, 12, (5, 2, 4, 8)),
    (4, {"basis_size": 1}, 12, (1, 1, None, 12)), (4, {}, 10**8, (5, 2, None, 60))])
def test_settings_of_parameters(rng, small_groups, n_outputs, params, n_rounds, expected):
    """Two base learners a round where several outputs have several basis vectors."""
    settings = made(rng, n_outputs, n_rounds, **params)
    assert (settings.basis_size, settings.n_together, settings.group_size, settings.capacity) == expected
    assert settings.keeps_dictionary == (settings.basis_size == 1)


def test_groups_are_those_of_the_paper():
    assert ensemble_module.GROUP_SIZE == 50


def test_losses_are_means_over_outputs_of_each_set_of_rows(rng):
    X, y = waves(rng, 200)
    learned = TargetRows(X, np.column_stack([y, np.zeros(200)]), RowWeights(200))
    few = TargetRows(X[:50], learned.values[:50], RowWeights(50))
    model = SparseKernelRegressor(basis_size=5, max_samples=100)
    ensemble = make_ensemble(model, KERNEL._replace(reg_lambda=0.02), no_scaling(3), learned, [few, learned], 5, rng)
    assert ensemble.loss == pytest.approx((y @ y) / 400)
    assert ensemble.eval_losses[0] == pytest.approx((y[:50] @ y[:50]) / 100)
    for _ in range(5):
        assert ensemble.grow()
        assert ensemble.eval_losses[1] == pytest.approx(ensemble.loss, rel=1e-4)


def test_rows_of_margin_one_half_and_more_are_not_active(rng):
    """Of 100 rows 20 have a margin below 0.5, and 60 one below 0.9; of two outputs, the lower margin counts."""
    signs = np.where(rng.standard_normal((100, 2)) > 0, 1.0, -1.0)
    margins = rng.permutation(np.r_[np.linspace(-1, 0.49, 20), np.linspace(0.51, 0.89, 40), np.linspace(0.91, 2, 40)])
    X = rng.standard_normal((100, 3))
    for sign, of_outputs in ((signs[:, :1], margins[:, None]), (signs, margins[:, None] + [0.3, 0.0])):
        ensemble = make(X, sign, sign, group_size=4)
        found = ensemble._active_rows(in_outputs(sign - sign * of_outputs), sign)
        np.testing.assert_array_equal(found, np.flatnonzero(margins < 0.5))
        found = ensemble._active_rows(in_outputs(sign - sign * (of_outputs - 3)), sign)
        np.testing.assert_array_equal(found, np.sort(np.argsort(margins)[:50]))
