"""The choice of the kernel: what is given, what the likelihood says, and what held-out rows say."""

import numpy as np
import pytest
import reference
from helpers.sparse_rows import waves

from rffkern import SparseKernelClassifier, SparseKernelRegressor
from rffkern._estimator import monitor
from rffkern._rows.scaling import measure_scaling
from rffkern._rows.training_rows import TargetRows
from rffkern._rows.weights import RowWeights
from rffkern._training.sparse_kernel import ensemble_trial, kernel_choice, likelihood
from rffkern._training.sparse_kernel.dense_ridge import DenseRidge
from rffkern._training.sparse_kernel.ensemble_trial import EnsembleTrial
from rffkern._training.sparse_kernel.kernel import Kernel, RegularisedKernel
from rffkern._training.sparse_kernel.kernel_choice import first_best, learn_kernel
from rffkern._training.sparse_kernel.likelihood import one_per_column

pytestmark = pytest.mark.slow


def machine(length):
    return RegularisedKernel(Kernel(np.array([length]), 1.0, 0.0), 0.1)


@pytest.mark.parametrize(("best", "found", "n_trials"), [
    (1.0, 1.0, 2), (0.7, 0.7, 3), (0.5, 0.5, 4), (0.35, 0.35, 5), (0.01, 0.25, 5)])
def test_lengths_are_shortened_while_that_helps(best, found, n_trials):
    """In turn, until one is no better."""
    tried = []

    def trial(candidate):
        tried.append(candidate.kernel.length_scale[0])
        return abs(np.log(tried[-1] / best))

    chosen = first_best([machine(length) for length in (1.0, 0.7, 0.5, 0.35, 0.25)], trial)
    assert chosen.kernel.length_scale[0] == found
    assert len(tried) == n_trials


def test_hardly_better_is_not_better():
    losses = iter([1.0, 0.999, 0.0])
    assert first_best([machine(1.0), machine(2.0), machine(3.0)], lambda _: next(losses)).kernel.length_scale[0] == 1.0


@pytest.mark.parametrize("shape", ["gaussian", "exponential"])
def test_the_loss_of_a_ridge_regression(rng, shape):
    """Weights divide lambda, row by row."""
    X, y = waves(rng, 160)
    targets, weights, held_out_weights = np.column_stack([y, y**2]), rng.uniform(0.1, 3, 100), rng.uniform(0.1, 3, 60)
    kernel = Kernel(np.array([1.0, 2.0, 3.0]), 1.5, 0.2, shape)
    ridge = DenseRidge(X[:100], targets[:100], weights, X[100:], targets[100:], 1)
    matrix = reference.kernel_of_shape(X, X, *kernel)
    solved = np.linalg.solve(matrix[:100, :100] + np.diag(0.3 / weights), targets[:100])
    residuals = targets[100:] - matrix[100:, :100] @ solved
    np.testing.assert_allclose(ridge.residuals(RegularisedKernel(kernel, 0.3)), residuals, atol=1e-9)
    near = DenseRidge(X[:100], targets[:100], weights, X[100:], targets[100:], 1, "single")
    np.testing.assert_allclose(near.residuals(RegularisedKernel(kernel, 0.3)), residuals, atol=1e-4)
    assert near._workspace.system.matrix.dtype == np.float32
    expected = np.average((residuals**2).mean(axis=1), weights=held_out_weights)
    assert ridge.loss(RegularisedKernel(kernel, 0.3), held_out_weights) == pytest.approx(expected)
    assert ridge.loss(RegularisedKernel(kernel, -5.0), held_out_weights) == np.inf


def test_what_is_given_takes_no_draws(rng):
    X, y = waves(rng, 50)
    data = TargetRows(X, y[:, None], RowWeights(50))
    model = SparseKernelRegressor(kernel={"length_scale": 2.0}, reg_lambda=0.5)
    draws = np.random.default_rng(0)
    found = learn_kernel(model, data, y[:, None], measure_scaling(X, data.weights), [one_per_column], draws)
    assert found.reg_lambda == 0.5
    assert found.kernel.length_scale.tolist() == [2.0, 2.0, 2.0]
    assert draws.random() == np.random.default_rng(0).random()


def test_a_rough_function_gets_the_exponential_kernel_and_a_smooth_one_the_gaussian(rng):
    X = rng.uniform(-1, 1, (1600, 2))
    smooth, rough = np.sin(3 * X[:, 0] + 2 * X[:, 1]), np.floor(4 * X[:, 0]) + np.floor(4 * X[:, 1]) % 2
    for n_rows in (300, 1600):
        found = [SparseKernelRegressor(5, random_state=0).fit(X[:n_rows], y[:n_rows]) for y in (smooth, rough)]
        assert [model.kernel_["shape"] for model in found] == ["gaussian", "exponential"]
        assert [model.expansion_.kernels.shape for model in found] == ["gaussian", "exponential"]


@pytest.mark.parametrize("loss_scale", [1.0, 100.0])
def test_rows_without_weight_have_no_part_in_the_choice(rng, loss_scale):
    X, y = waves(rng, 1700)
    weight = np.where(np.arange(1700) % 8, 1.0, 0.0) * loss_scale
    changed = np.where(weight[:, None] > 0, X, 50.0)
    found = [SparseKernelRegressor(3, random_state=0).fit(rows, y, weight).kernel_ for rows in (X, changed)]
    assert found[0] == found[1]


@pytest.mark.parametrize("shape", ["gaussian", "exponential"])
def test_a_trial_repeats_itself_and_knows_better_lengths(rng, shape):
    X, y = waves(rng, 600)
    weights = RowWeights(600, np.where(np.arange(600) % 3, 1.0, 0.0))
    model = SparseKernelRegressor(20, learner_size=8, subset_size=60)
    trial = EnsembleTrial(model, TargetRows(X, y[:, None], weights), y[:, None], measure_scaling(X, weights), 1, rng)
    good, bad = (RegularisedKernel(Kernel(np.full(3, length), 1.0, 0.0, shape), 0.1) for length in (0.7, 1e-3))
    assert trial.loss(good) == trial.loss(good)
    assert trial.loss(good) < 0.5 * trial.loss(bad)


def test_a_trial_takes_as_many_rows_as_it_may(rng, monkeypatch):
    """One of so many is held out beside those that it learns from."""
    monkeypatch.setattr(ensemble_trial, "_MOST_ROWS", 100)
    X, y = waves(rng, 1000)
    data = TargetRows(X, y[:, None], RowWeights(1000))
    trial = EnsembleTrial(SparseKernelRegressor(20), data, y[:, None], measure_scaling(X, data.weights), 1, rng)
    assert (len(trial._learned), len(trial._held_out)) == (100, 100 // ensemble_trial._ROWS_PER_HELD_OUT)
    assert len(np.unique(np.concatenate([trial._learned, trial._held_out]))) == 125


def test_many_rows_shorten_lengths_by_ensembles(rng, monkeypatch):
    X, y = waves(rng, 1500)
    lengths = []
    for shortest in (1.0, 0.5):
        monkeypatch.setattr(kernel_choice, "_MANY_ROWS", 1400)
        monkeypatch.setattr(EnsembleTrial, "loss", lambda _, machine: machine.kernel.length_scale[0])
        monkeypatch.setattr(kernel_choice, "_FACTORS_OF_LENGTHS", (1.0, shortest))
        lengths.append(SparseKernelRegressor(2, random_state=0).fit(X, y).kernel_["length_scale"][0])
    assert lengths[1] <= 0.51 * lengths[0]


def test_a_classifier_learns_one_length(rng):
    X, y = waves(rng, 400)
    learned = [model(5, random_state=0).fit(X * [1, 10, 100], target).kernel_["length_scale"]
               for model, target in ((SparseKernelClassifier, y > 0), (SparseKernelRegressor, y))]
    assert np.ptp(learned[0]) < 1e-9
    assert np.ptp(learned[1]) > 0.1


def test_lengths_are_shortened_where_rows_tell_more(rng):
    """A fine ripple on a coarse wave: 1000 rows hardly see it, 2000 do."""
    X = rng.uniform(-1, 1, (6000, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * np.sin(25 * X[:, 0]) * np.sin(25 * X[:, 1]) + 0.05 * rng.standard_normal(6000)
    found = {kernel: SparseKernelRegressor(60, kernel=kernel, random_state=0).fit(X[:5000], y[:5000])
             for kernel in ("auto", "likelihood")}
    assert found["auto"].score(X[5000:], y[5000:]) >= found["likelihood"].score(X[5000:], y[5000:]) - 1e-3


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_lengths_are_found_in_any_unit(rng, unit):
    X, y = waves(rng, 400)
    model = SparseKernelRegressor(20, standardize=False, random_state=0).fit(unit * X[:300], y[:300])
    assert model.score(unit * X[300:], y[300:]) > 0.9


def test_the_choice_tells_how_it_goes_on(rng, capsys, monkeypatch):
    """Evaluations of the likelihood on few rows, trials, evaluations on more rows, and trials again."""
    for module in (monitor, likelihood):
        monkeypatch.setattr(module, "SECONDS_BETWEEN", 0.0)
    X, y = waves(rng, 1500)
    SparseKernelClassifier(1, learner_size=4, subset_size=50, verbose=1, random_state=0).fit(X, y > 0)
    lines = capsys.readouterr().err.splitlines()
    works = [line[: line.index(next(filter(str.isdigit, line)))].strip() for line in lines]
    in_turn = [work for work, before in zip(works, [None, *works], strict=False) if work != before]
    few, more, trials = "length scales", "length scales on more rows", "kernels on held-out rows"
    assert in_turn == [few, trials, few, trials, few, trials, few, trials, more, trials, "round"]
    assert "negative log-likelihood" in lines[0]
    assert "loss" in lines[works.index(trials)]
