"""The choice of the kernel: what is given, what the likelihood says, and what held-out rows say."""

import numpy as np
import pytest
from helpers.sparse_rows import waves

from rffkern import SparseKernelClassifier, SparseKernelRegressor
from rffkern._data.scaling import measure_scaling
from rffkern._data.training_rows import TargetRows
from rffkern._data.weights import RowWeights
from rffkern._estimator import monitor
from rffkern._sparse import kernel_choice, likelihood
from rffkern._sparse.kernel import GaussianKernel, RegularisedKernel
from rffkern._sparse.kernel_choice import Trial, best_on_held_out_rows, learn_kernel
from rffkern._sparse.likelihood import one_per_column


def machine(length):
    return RegularisedKernel(GaussianKernel(np.array([length]), 1.0, 0.0), 0.1)


@pytest.mark.parametrize(("best", "found", "n_trials"), [
    (1.0, 1.0, 3), (0.7, 0.7, 4), (0.5, 0.5, 5), (0.35, 0.35, 6), (0.01, 0.25, 6), (10.0, 4.0, 3)])
def test_lengths_are_shortened_while_that_helps(best, found, n_trials):
    """Of candidates 1 and 4 the better one first, then its shorter ones in turn until one is no better."""
    tried = []

    def trial(candidate):
        tried.append(candidate.kernel.lengthscales[0])
        return abs(np.log(tried[-1] / best))

    chosen = best_on_held_out_rows([machine(1.0), machine(4.0)], trial)
    assert chosen.kernel.lengthscales[0] == pytest.approx(found)
    assert chosen.reg_lambda == 0.1
    assert len(tried) == n_trials


def test_of_equal_candidates_the_first():
    candidates = [machine(1.0), machine(2.0)]
    assert best_on_held_out_rows(candidates, lambda candidate: 1.0) is candidates[0]


def test_what_is_given_takes_no_draws(rng):
    X, y = waves(rng, 50)
    data = TargetRows(X, y[:, None], RowWeights(50))
    model = SparseKernelRegressor(kernel={"lengthscales": 2.0}, reg_lambda=0.5)
    draws = np.random.default_rng(0)
    found = learn_kernel(model, data, y[:, None], measure_scaling(X, data.weights), [one_per_column], draws)
    assert found.reg_lambda == 0.5
    assert found.kernel.lengthscales.tolist() == [2.0, 2.0, 2.0]
    assert draws.random() == np.random.default_rng(0).random()


def test_a_trial_repeats_itself_and_knows_better_lengths(rng):
    X, y = waves(rng, 600)
    weights = RowWeights(600, np.where(np.arange(600) % 3, 1.0, 0.0))
    model = SparseKernelRegressor(20, learner_size=8, subset_size=60)
    trial = Trial(model, TargetRows(X, y[:, None], weights), y[:, None], measure_scaling(X, weights), rng)
    good, bad = (RegularisedKernel(GaussianKernel(np.full(3, length), 1.0, 0.0), 0.1) for length in (0.7, 1e-3))
    assert trial(good) == trial(good)
    assert trial(good) < 0.5 * trial(bad)


def test_a_trial_takes_as_many_rows_as_it_may(rng, monkeypatch):
    """One of so many is held out beside those that it learns from."""
    monkeypatch.setattr(kernel_choice, "_TRIAL_ROWS", 100)
    X, y = waves(rng, 1000)
    data = TargetRows(X, y[:, None], RowWeights(1000))
    trial = Trial(SparseKernelRegressor(20), data, y[:, None], measure_scaling(X, data.weights), rng)
    learned, held_out = trial._learned, trial._held_out
    assert len(learned) == 100
    assert len(held_out) == 100 // kernel_choice._ROWS_PER_HELD_OUT
    assert len(np.unique(np.concatenate([learned, held_out]))) == len(learned) + len(held_out)


def test_a_classifier_learns_one_length(rng):
    X, y = waves(rng, 400)
    learned = [model(5, random_state=0).fit(X * [1, 10, 100], target).kernel_["lengthscales"]
               for model, target in ((SparseKernelClassifier, y > 0), (SparseKernelRegressor, y))]
    assert np.ptp(learned[0]) < 1e-9
    assert np.ptp(learned[1]) > 0.1


def test_lengths_are_shortened_where_rows_tell_more(rng):
    """A fine ripple on a coarse wave: 1000 rows hardly see it, 6000 do."""
    X = rng.uniform(-1, 1, (6000, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * np.sin(25 * X[:, 0]) * np.sin(25 * X[:, 1]) + 0.05 * rng.standard_normal(6000)
    found = {kernel: SparseKernelRegressor(60, kernel=kernel, random_state=0).fit(X[:5000], y[:5000])
             for kernel in ("auto", "likelihood")}
    ratio = np.divide(found["likelihood"].kernel_["lengthscales"], found["auto"].kernel_["lengthscales"])
    assert np.ptp(ratio) < 1e-12
    assert np.isclose(ratio[0], 1 / np.array([1, 0.7, 0.5, 0.35, 0.25])).any()
    assert found["auto"].score(X[5000:], y[5000:]) >= found["likelihood"].score(X[5000:], y[5000:]) - 1e-3


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_lengths_are_found_in_any_unit(rng, unit):
    X, y = waves(rng, 400)
    model = SparseKernelRegressor(20, standardize=False, random_state=0).fit(unit * X[:300], y[:300])
    assert model.score(unit * X[300:], y[300:]) > 0.9


def test_the_choice_tells_how_it_goes_on(rng, capsys, monkeypatch):
    """Evaluations of the likelihood on few rows and on more, for each candidate, and then trials."""
    for module in (monitor, likelihood):
        monkeypatch.setattr(module, "SECONDS_BETWEEN", 0.0)
    X, y = waves(rng, 1100)
    SparseKernelClassifier(1, learner_size=4, subset_size=50, verbose=1, random_state=0).fit(X, y > 0)
    lines = capsys.readouterr().err.splitlines()
    works = [line[: line.index(next(filter(str.isdigit, line)))].strip() for line in lines]
    search = ["length scales", "length scales on more rows"]
    in_turn = [work for work, before in zip(works, [None, *works], strict=False) if work != before]
    assert in_turn == [*search, *search, "kernels on held-out rows", "round"]
    assert sum(work == "length scales" for work in works) > 6  # three searches, twice
    assert "negative log-likelihood" in lines[0]
    assert "loss" in lines[works.index("kernels on held-out rows")]
