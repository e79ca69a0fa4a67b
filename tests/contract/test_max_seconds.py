"""A limit of time ends a fit after a round, with the best model so far; a fit that ends before it has the same bits.

Time is that of a clock of the tests, on which each round takes a second.
"""

import numpy as np
import pytest
from helpers.families import X, fit, known, one_member, quick, same_state, target_of
from helpers.partitions import LocalPartitions, cut

from rffkern import (
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    InvalidInputError,
    dumps,
    loads,
)
from rffkern._estimator import monitor
from rffkern._estimator.registry import FAMILIES
from rffkern._training.fourier_boosting.distributed import fit_partitions as boost_partitions
from rffkern._training.gbrff.partitions import fit_partitions

NAMES = sorted(name for name, entry in FAMILIES.items() if "max_seconds" in entry.load()._param_names())
NO_TIME, MUCH_TIME = 1e-9, 1e9


@pytest.fixture(params=NAMES)
def cls(request):
    return FAMILIES[request.param].load()


class Clock:
    """A clock that stands still but when it is told."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def tick(self, info):
        """A callback: a round takes a second."""
        self.now += 1


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(monitor, "_clock", found)
    return found


def made(cls, **params):
    return cls(**{"random_state": 5} | quick(cls) | known(cls, n_estimators=8, max_epochs=8, n_restarts=1) | params)


def n_rounds(model):
    return len(model.train_loss_) - 1


def test_which_families_have_it():
    """Those that learn in rounds or epochs; the others have no model before the end."""
    without = "kernel_ridge", "kernel_ridge_regressor", "pbrff", "pbrff_transformer"
    assert {*NAMES} == {*FAMILIES} - {*without}


def test_no_time_leaves_one_round(cls):
    for n_jobs in (1, 2):
        model = made(cls, max_seconds=NO_TIME, n_jobs=n_jobs).fit(X, target_of(cls))
        assert model.timed_out_
        assert n_rounds(model) <= 1  # Fourier boosting keeps none if that is better
        assert np.isfinite(model.score(X, target_of(cls)))
        if n_jobs == 1:
            first = model
    assert same_state(first, model)
    again = loads(dumps(model))
    assert again.max_seconds is None
    assert same_state(again, model)


def test_much_time_changes_no_bit(cls):
    model = made(cls, max_seconds=MUCH_TIME).fit(X, target_of(cls))
    assert not model.timed_out_
    assert same_state(model, made(cls).fit(X, target_of(cls)))


def test_rounds_end_with_the_time(cls, clock):
    seen = []
    model = made(cls, max_seconds=4.5, **one_member(cls))
    model.fit(X, target_of(cls), callback=lambda info: seen.append(info) or clock.tick(info))
    assert len(seen) == 5
    assert model.timed_out_
    if "n_estimators" in cls._param_names():  # epochs get shorter steps by their number
        assert same_state(model, made(cls, n_estimators=5, **one_member(cls)).fit(X, target_of(cls)))


def test_the_last_round_is_no_end_by_time(cls, clock):
    model = made(cls, max_seconds=7.5, **one_member(cls)).fit(X, target_of(cls), callback=clock.tick)
    assert not model.timed_out_


def test_a_callback_ends_a_fit_before_its_time(cls, clock):
    model = made(cls, max_seconds=4.5).fit(X, target_of(cls), callback=lambda info: clock.tick(info) or True)
    assert not model.timed_out_


def test_the_best_round_on_an_eval_set_is_kept(cls, clock):
    target = target_of(cls)
    model = made(cls, max_seconds=4.5, **one_member(cls)).fit(X[:300], target[:300], callback=clock.tick,
                                                             eval_set=(X[300:], target[300:]))
    assert model.timed_out_
    best = int(np.argmin(model.eval_loss_))
    assert getattr(model, "best_epoch_", getattr(model, "n_estimators_", None)) == best


def test_a_fit_goes_on_with_as_much_time_anew(cls, clock):
    if "n_estimators" not in cls._param_names():
        return  # RFFNet starts its stages anew
    target = target_of(cls)
    model = made(cls, max_seconds=2.5, warm_start=True).fit(X, target, callback=clock.tick)
    assert model.timed_out_
    n_calls = 1
    while model.timed_out_:
        model.fit(X, target, callback=clock.tick)
        n_calls += 1
    assert n_calls > 2
    assert same_state(model, made(cls, warm_start=True).fit(X, target))


def test_what_is_no_time_is_an_error_that_says_so(cls):
    for wrong in (0, -1.0, float("nan"), "1"):
        with pytest.raises(InvalidInputError, match="max_seconds must be"):
            made(cls, max_seconds=wrong).fit(X, target_of(cls))


def test_verbose_fits_say_it(cls, clock, capsys):
    made(cls, max_seconds=2.5, verbose=1000).fit(X, target_of(cls), callback=clock.tick)
    assert "max_seconds has ended" in capsys.readouterr().err


def test_bags_share_the_time(clock):
    seen = []
    model = made(FourierBoostingClassifier, max_seconds=11.5, n_bags=4)
    model.fit(X, target_of(FourierBoostingClassifier), callback=lambda info: seen.append(info.bag) or clock.tick(info))
    assert [seen.count(bag) for bag in range(4)] == [3, 3, 3, 3]
    assert model.timed_out_


def test_bags_that_are_ended_go_on_with_the_time_that_others_leave(clock):
    """Only rounds of the first bag take time: it is ended after half of it, and goes on after the second."""
    seen, target = [], target_of(FourierBoostingRegressor)

    def callback(info):
        seen.append(info.bag)
        clock.now += info.bag == 0

    model = made(FourierBoostingRegressor, max_seconds=30.0, n_estimators=20).fit(X, target, callback=callback)
    assert seen == [0] * 15 + [1] * 20 + [0] * 5
    assert not model.timed_out_
    assert same_state(model, made(FourierBoostingRegressor, n_estimators=20).fit(X, target))


def test_kernel_ridge_regression_is_given_up_within_its_work(clock):
    works = []

    def listen(work, done, total, note):
        if work.startswith("kernel"):
            works.append(work)
            clock.now += 1

    rows = np.tile(X, (3, 1)) + np.repeat(np.arange(3.0), len(X))[:, None]  # more than are solved in one step
    target = rows[:, 0] + np.tile(target_of(FourierBoostingRegressor), 3)
    model = made(FourierBoostingRegressor, kernel_ridge=True, max_seconds=0.5)
    with monitor.listening(listen):
        model.fit(rows, target)
    assert len(works) == 1  # the first step is the last
    assert model.timed_out_
    assert not model.kernel_ridge_report_.kept
    assert model.kernel_ridge_report_.reason == "not used: the callback or max_seconds ended the fit"
    assert same_state(model, made(FourierBoostingRegressor).fit(rows, target))


@pytest.mark.parametrize(("make", "train", "params"), [
    (GBRFF2Classifier, fit_partitions, {}),
    (FourierBoostingClassifier, boost_partitions, {"columns": None, "kernel_ridge": False, "n_bags": 2})])
def test_rows_in_partitions(make, train, params, clock):
    pieces = cut([0, 150, 400], X, target_of(make))
    model, seen = make(8, random_state=0, max_seconds=5.5, **params), []
    train(model, LocalPartitions(pieces), {}, lambda info: seen.append(info.bag) or clock.tick(info))
    assert seen == ([0] * 3 + [1] * 3 if params else [0] * 6)
    assert model.timed_out_


def test_a_search_for_a_map_has_no_limit():
    """Its choice is that of a fit without one."""
    cls = GBRFF2Classifier
    model = fit(cls, columns="search", max_seconds=NO_TIME, n_estimators=3)
    without = fit(cls, columns="search", n_estimators=3)
    assert repr(model.column_map_) == repr(without.column_map_)
