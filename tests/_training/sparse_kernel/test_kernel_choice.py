"""The choice of the kernel: what is given, what the likelihood says, and what held-out rows say."""

import numpy as np
import pytest
from helpers.sparse_rows import RAW, waves

from rffkern import SparseKernelClassifier, SparseKernelRegressor
from rffkern._estimator import monitor
from rffkern._rows.scaling import measure_scaling
from rffkern._rows.training_rows import TargetRows
from rffkern._rows.weights import RowWeights
from rffkern._training.kernel_ridge.kernel import Kernel
from rffkern._training.sparse_kernel import kernel_choice
from rffkern._training.sparse_kernel.kernel_choice import _descend, _loss_of_ensembles, choose_kernel

pytestmark = pytest.mark.slow


def kernel(length):
    return Kernel(np.array([length]), 1.0, 0.0, reg_lambda=0.1)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(("best", "found", "n_trials"), [
    (1.0, 1.0, 2), (0.7, 0.7, 3), (0.5, 0.5, 4), (0.35, 0.35, 5), (0.01, 0.25, 5)])
def test_lengths_are_shortened_while_that_helps(best, found, n_trials, is_known):
    """In turn, until one is no better."""
    tried = []

    def loss(candidate):
        tried.append(candidate.length_scale[0])
        return abs(np.log(tried[-1] / best))

    lowest = abs(np.log(best)) if is_known else None
    chosen, lowest = _descend([kernel(length) for length in (1.0, 0.7, 0.5, 0.35, 0.25)], loss, lowest)
    assert chosen.length_scale[0] == found
    assert lowest == abs(np.log(found / best))
    assert len(tried) == n_trials - is_known


def test_hardly_better_is_not_better():
    losses = iter([1.0, 0.999, 0.0])
    chosen, lowest = _descend([kernel(1.0), kernel(2.0), kernel(3.0)], lambda _: next(losses), None)
    assert (chosen.length_scale[0], lowest) == (1.0, 1.0)


def test_what_is_given_takes_no_draws(rng):
    X, y = waves(rng, 50)
    data = TargetRows(X, y[:, None], RowWeights(50))
    model = SparseKernelRegressor(kernel={"length_scale": 2.0}, reg_lambda=0.5)
    draws = np.random.default_rng(0)
    found = choose_kernel(model, data, y[:, None], measure_scaling(X, data.weights), draws)
    assert found.reg_lambda == 0.5
    assert found.length_scale.tolist() == [2.0, 2.0, 2.0]
    assert draws.random() == np.random.default_rng(0).random()


def test_a_rough_function_gets_the_exponential_kernel_and_a_smooth_one_the_gaussian(rng):
    X = rng.uniform(-1, 1, (1600, 2))
    smooth, rough = np.sin(3 * X[:, 0] + 2 * X[:, 1]), np.floor(4 * X[:, 0]) + np.floor(4 * X[:, 1]) % 2
    for n_rows in (300, 1600):
        found = [SparseKernelRegressor(5, random_state=0).fit(X[:n_rows], y[:n_rows]) for y in (smooth, rough)]
        assert [model.kernel_["shape"] for model in found] == ["gaussian", "exponential"]
        assert [model.expansion_.kernels.shape for model in found] == ["gaussian", "exponential"]


def test_rows_without_weight_have_no_part_in_the_choice(rng):
    X, y = waves(rng, 1700)
    weight = np.where(np.arange(1700) % 8, 100.0, 0.0)
    changed = np.where(weight[:, None] > 0, X, 50.0)
    found = [SparseKernelRegressor(3, random_state=0).fit(rows, y, weight).kernel_ for rows in (X, changed)]
    assert found[0] == found[1]


@pytest.mark.parametrize("kernel", ["auto", "likelihood", {"length_scale": 1.0}])
@pytest.mark.parametrize("size", [2.0**-30, 2.0**10])
def test_the_size_of_weights_does_not_matter(rng, monkeypatch, kernel, size):
    """Only their ratios do, where lambda is learned: by the likelihood, on other rows, and by ensembles."""
    X, y = waves(rng, 1200)
    y += 0.3 * rng.standard_normal(1200)
    weights = rng.uniform(0.5, 2, 1200)
    for n_rows, many in ((300, 8000), (1200, 8000), (1200, 1100)):
        monkeypatch.setattr(kernel_choice, "_MANY_ROWS", many)
        one, other = (SparseKernelRegressor(10, kernel=kernel, random_state=0).fit(
            X[:n_rows], y[:n_rows], factor * weights[:n_rows]) for factor in (1, size))
        np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=0, atol=1e-9)
        assert other.reg_lambda_ == pytest.approx(size * one.reg_lambda_, rel=1e-9)


@pytest.mark.parametrize("shape", ["gaussian", "exponential"])
def test_a_trial_repeats_itself_and_knows_better_lengths(rng, shape):
    X, y = waves(rng, 600)
    weights = RowWeights(600, np.where(np.arange(600) % 3, 1.0, 0.0))
    model = SparseKernelRegressor(20, basis_size=8, max_samples=60)
    loss = _loss_of_ensembles(model, TargetRows(X, y[:, None], weights), y[:, None], measure_scaling(X, weights), rng)
    good, bad = (Kernel(np.full(3, length), 1.0, 0.0, shape, 0.1) for length in (0.7, 1e-3))
    assert loss(good) == loss(good)
    assert loss(good) < 0.5 * loss(bad)


def test_a_trial_takes_as_many_rows_as_it_may(rng, monkeypatch):
    """One of so many is held out beside those that it learns from."""
    monkeypatch.setattr(kernel_choice, "_MOST_TRIAL_ROWS", 100)
    taken, make = [], kernel_choice.TargetRows
    monkeypatch.setattr(kernel_choice, "TargetRows", lambda *parts: taken.append(parts[0]) or make(*parts))
    X, y = waves(rng, 1000)
    data = TargetRows(X, y[:, None], RowWeights(1000))
    _loss_of_ensembles(SparseKernelRegressor(20), data, y[:, None], measure_scaling(X, data.weights), rng)
    assert [len(rows) for rows in taken] == [25, 100]
    assert len(np.unique(np.concatenate(taken), axis=0)) == 125


def test_many_rows_shorten_lengths_by_ensembles(rng, monkeypatch):
    X, y = waves(rng, 1500)
    lengths = []
    for shortest in (1.0, 0.5):
        monkeypatch.setattr(kernel_choice, "_MANY_ROWS", 1400)
        monkeypatch.setattr(kernel_choice, "_loss_of_ensembles",
                            lambda *_: lambda kernel: kernel.length_scale[0])
        monkeypatch.setattr(kernel_choice, "_FACTORS_OF_LENGTHS", (1.0, shortest))
        lengths.append(SparseKernelRegressor(2, random_state=0).fit(X, y).kernel_["length_scale"][0])
    assert lengths[1] == 0.5 * lengths[0]


def test_a_classifier_learns_one_length(rng):
    X, y = waves(rng, 400)
    learned = [model(5, kernel="likelihood", random_state=0).fit(X * [1, 10, 100], target).kernel_["length_scale"]
               for model, target in ((SparseKernelClassifier, y > 0), (SparseKernelRegressor, y))]
    assert np.ptp(learned[0]) < 1e-9
    assert np.ptp(learned[1]) > 0.1


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_lengths_are_found_in_any_unit(rng, unit):
    X, y = waves(rng, 400)
    model = SparseKernelRegressor(20, columns=RAW, random_state=0).fit(unit * X[:300], y[:300])
    assert model.score(unit * X[300:], y[300:]) > 0.9


def test_the_choice_tells_how_it_goes_on(rng, capsys, monkeypatch):
    """Evaluations of the likelihood on few rows, trials, evaluations on more rows, and trials again."""
    monkeypatch.setattr(monitor, "SECONDS_BETWEEN", 0.0)
    X, y = waves(rng, 1500)
    SparseKernelClassifier(1, basis_size=4, max_samples=50, verbose=1, random_state=0).fit(X, y > 0)
    lines = capsys.readouterr().err.splitlines()
    works = [line[: line.index(next(filter(str.isdigit, line)))].strip() for line in lines]
    in_turn = [work for work, before in zip(works, [None, *works], strict=False) if work != before]
    few, more, trials = "length scales", "length scales on more rows", "kernels by leave-one-out error"
    assert in_turn == [few, trials, few, trials, few, trials, few, trials, more, trials, "round"]
    assert "negative log-likelihood" in lines[0]
    assert "loss" in lines[works.index(trials)]


def test_rows_that_weigh_next_to_nothing_have_no_say(rng):
    X, y = waves(rng, 80)
    light = np.arange(80) < 20
    kernels = [SparseKernelRegressor(1, random_state=0).fit(X, target, np.where(light, 1e-9, 1.0)).kernel_
               for target in (y, y + 3 * light)]
    np.testing.assert_allclose(kernels[1]["length_scale"], kernels[0]["length_scale"], rtol=1e-3)
