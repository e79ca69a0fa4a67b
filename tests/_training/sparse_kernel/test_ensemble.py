"""Ensembles that grow by the update schemes, group by group."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
import reference
from helpers.sparse_rows import given_kernel, in_outputs, kernel_rows, make_settings, make_shared, waves

from rffkern._estimator.monitor import Monitor
from rffkern._training.sparse_kernel.ensemble import (
    Ensemble,
    GroupOptimal,
    NewestOptimal,
    RowsWithTargets,
    group_of_active_rows,
    group_of_all_rows,
    learn_from_active_rows,
    learn_from_all_rows,
    make_ensembles,
)
from rffkern._training.sparse_kernel.kernel import RegularisedKernel
from rffkern._training.sparse_kernel.rounds import finish, grow_all

KERNEL = given_kernel()


class Parameters(NamedTuple):
    n_estimators: int = 12
    learner_size: int = 5
    subset_size: int | None = 100
    selection: str = "max-res"
    n_candidates: int = 60
    update: str = "full"
    group_size: int = 4
    shared: bool = False
    warm_start: bool = False
    precision: str = "double"


def values(X, learners, coef):
    """Values of weak learners times their coefficients."""
    return sum(c * reference.gaussian_kernel(X, X[f.indices], KERNEL.length_scale, 1.5, 0.2) @ f.weights
               for c, f in zip(coef, learners, strict=True))


def coefficients(ensemble, n_learners):
    """Those of the first weak learners, of the one output."""
    return ensemble.path(n_learners, slice(1)).at(n_learners)[:, 0]


def make(scheme, X, target, later_group=group_of_all_rows, weight=None, **settings):
    shared = make_shared(kernel_rows(X, KERNEL, weight), make_settings(KERNEL, **settings))
    return scheme(shared, in_outputs(target), later_group)


def test_the_active_set(rng):
    """The second group learns from at most half of the rows, those of lowest margin."""
    X, y = waves(rng, 600)
    sign = np.where(y > 0, 1.0, -1.0)
    ensemble = make(GroupOptimal, X, sign, partial(group_of_active_rows, sign[:, None]))
    for _ in range(5):
        assert ensemble.grow()
    margin = sign * values(X, ensemble.learners[:4], coefficients(ensemble, 4))
    n_active = min((margin < 0.5).sum(), 300)
    assert n_active > 0
    np.testing.assert_array_equal(ensemble.group.active, np.sort(np.argsort(margin)[:n_active]))
    assert set(ensemble.learners[4].indices) <= set(ensemble.group.active)
    idle = np.setdiff1d(np.arange(600), ensemble.group.active)
    assert ensemble.group.idle_loss == pytest.approx(((1 - margin[idle]) ** 2).sum())


@pytest.mark.parametrize("active", [False, True])
def test_a_group_learns_what_those_before_it_leave(rng, active):
    X, y = waves(rng, 400)
    sign = np.where(y > 0, 1.0, -1.0)
    later_group = partial(group_of_active_rows, sign[:, None]) if active else group_of_all_rows
    ensemble = make(GroupOptimal, X, sign, later_group)
    for _ in range(9):
        assert ensemble.grow()
    model = values(X, ensemble.learners, coefficients(ensemble, 9))
    np.testing.assert_allclose(ensemble.group.remainder().reshape(-1)[:400], sign - model, atol=1e-9)
    path = ensemble.path(9, slice(1))
    assert [len(group.last) for group in path.groups] == [4, 4, 1]
    np.testing.assert_allclose(path.at(9)[:4], path.at(4), rtol=1e-12)


def test_rows_without_weight_are_in_no_group(rng):
    X, y = waves(rng, 300)
    sign = np.where(y > 0, 1.0, -1.0)
    weight = (np.arange(300) % 2).astype(float)
    ensemble = make(GroupOptimal, X, sign, partial(group_of_active_rows, sign[:, None]), weight, subset_size=None)
    for _ in range(6):
        assert ensemble.grow()
    assert (ensemble.group.active % 2 == 1).all()
    assert all((learner.indices % 2 == 1).all() for learner in ensemble.learners)


def test_the_newest_alone_moves(rng):
    X, y = waves(rng, 300)
    ensemble = make(NewestOptimal, X, y, capacity=1)
    for n in range(1, 6):
        assert ensemble.grow()
        coef = coefficients(ensemble, n)
        np.testing.assert_allclose(ensemble.group.remainder().reshape(-1)[:300], y - values(X, ensemble.learners, coef),
                                   atol=1e-9)
    assert [len(group.last) for group in ensemble.path(5, slice(1)).groups] == [1] * 5


def test_a_full_ensemble_stays_as_it_is(rng):
    X, y = waves(rng, 300)
    ensemble = make(Ensemble, X, y)
    assert [ensemble.grow() for _ in range(6)] == [True] * 4 + [False] * 2
    assert len(ensemble.learners) == len(coefficients(ensemble, 4)) == 4


def test_an_ensemble_that_finds_nothing_stops(rng):
    X, _ = waves(rng, 100)
    for scheme in (Ensemble, NewestOptimal, GroupOptimal):
        ensemble = make(scheme, X, np.zeros(100))
        assert not ensemble.grow()
        assert ensemble.loss == 0
        ensemble.refine()
        assert ensemble.path(0, slice(1)).at(0).shape == (0, 1)


@pytest.mark.parametrize(("changes", "scheme", "expected"), [
    ({}, Ensemble, (5, 12, False)), ({"update": "one"}, NewestOptimal, (5, 1, False)),
    ({"update": "group"}, GroupOptimal, (5, 4, False)), ({"learner_size": 1}, Ensemble, (1, 12, True)),
    ({"learner_size": 1, "update": "one"}, NewestOptimal, (1, 1, False)),
    ({"n_estimators": 10**8, "learner_size": 10**6, "subset_size": None}, Ensemble, (60, 60, False)),
    ({"subset_size": 3}, Ensemble, (3, 12, False)), ({"update": "group", "group_size": 10**9}, GroupOptimal,
                                                     (5, 12, False))])
def test_settings_of_parameters(rng, changes, scheme, expected):
    X, y = waves(rng, 60)
    parameters = Parameters(**changes)
    ensembles = make_ensembles(parameters, [RowsWithTargets(kernel_rows(X, KERNEL), np.column_stack([y, y]))],
                               RegularisedKernel(KERNEL, 0.02), learn_from_all_rows(np.empty((60, 2))), rng,
                               parameters.n_estimators)
    assert [type(ensemble) for ensemble in ensembles] == [scheme, scheme]
    settings = ensembles[0]._shared.settings
    assert (settings.learner_size, settings.capacity, settings.keeps_dictionary) == expected
    assert settings.n_candidates == 60


def test_growing_together_and_finishing(rng):
    """An output that has run out changes no other; losses are means over outputs."""
    X, y = waves(rng, 200)
    learned = RowsWithTargets(kernel_rows(X, KERNEL), np.column_stack([y, np.zeros(200)]))
    held_out = RowsWithTargets(kernel_rows(X[:50], KERNEL), np.column_stack([y[:50], np.zeros(50)]))
    machine = RegularisedKernel(KERNEL, 0.02)
    ensembles = make_ensembles(Parameters(n_estimators=5), [learned, held_out, learned], machine,
                               learn_from_all_rows(learned.targets), rng, 5)
    monitor = Monitor(5)
    counts = grow_all(ensembles, monitor, ["few", "all"])
    assert monitor.watched["few"] == monitor.eval_loss
    np.testing.assert_allclose(monitor.watched["all"], monitor.train_loss, rtol=1e-9)
    assert counts == [[n, 0] for n in range(1, 6)]
    assert monitor.train_loss[0] == pytest.approx((y @ y) / 400)
    assert monitor.eval_loss[0] == pytest.approx((y[:50] @ y[:50]) / 100)
    paths, n_skipped = finish(ensembles, counts[2])
    assert [len(path.learners) for path in paths] == [3, 0]
    assert n_skipped == sum(ensemble.n_skipped for ensemble in ensembles)


def test_makers_of_groups_know_the_labels_of_their_output(rng):
    signs = np.where(rng.standard_normal((100, 2)) > 0, 1.0, -1.0)
    for outputs in (slice(0, 1), slice(1, 2), slice(0, 2)):
        shared = make_shared(kernel_rows(rng.standard_normal((100, 3)), KERNEL), make_settings(KERNEL))
        sign, margins = signs[:, outputs], np.linspace(0, 1, 100)[:, None] + [0, 0.3][: outputs.stop - outputs.start]
        group = learn_from_active_rows(signs)(outputs)(shared, in_outputs(sign - sign * margins))
        np.testing.assert_array_equal(group.active, np.arange(50))  # of lowest margin


def test_rows_of_margin_one_half_and_more_are_not_active(rng):
    """Of 100 rows 20 have a margin below 0.5, and 60 one below 0.9."""
    sign = np.where(rng.standard_normal(100) > 0, 1.0, -1.0)
    margins = rng.permutation(np.r_[np.linspace(-1, 0.49, 20), np.linspace(0.51, 0.89, 40), np.linspace(0.91, 2, 40)])
    shared = make_shared(kernel_rows(rng.standard_normal((100, 3)), KERNEL), make_settings(KERNEL))
    group = group_of_active_rows(sign[:, None], shared, in_outputs(sign - sign * margins))
    np.testing.assert_array_equal(group.active, np.flatnonzero(margins < 0.5))


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, (2, 24)), ({"update": "one"}, (2, 2)), ({"update": "group"}, (2, 8)), ({"learner_size": 1}, (1, 12)),
    ({"n_estimators": 10**8}, (2, 60))])
def test_settings_of_outputs_that_share(rng, changes, expected):
    """One ensemble, with two weak learners a round where they have several basis vectors."""
    X, y = waves(rng, 60)
    parameters = Parameters(**{"shared": True} | changes)
    ensembles = make_ensembles(parameters, [RowsWithTargets(kernel_rows(X, KERNEL), np.column_stack([y, X]))],
                               RegularisedKernel(KERNEL, 0.02), learn_from_all_rows(np.empty((60, 4))), rng,
                               parameters.n_estimators)
    assert [ensemble.n_outputs for ensemble in ensembles] == [4]
    settings = ensembles[0]._shared.settings
    assert (settings.n_together, settings.capacity) == expected
    one = make_ensembles(parameters, [RowsWithTargets(kernel_rows(X, KERNEL), y[:, None])],
                         RegularisedKernel(KERNEL, 0.02), learn_from_all_rows(np.empty((60, 1))), rng,
                         parameters.n_estimators)
    assert one[0]._shared.settings.n_together == 1
