"""The marginal likelihood of a kernel, its gradient and its maximum."""

import tracemalloc

import numpy as np
import pytest
import reference

from rffkern._training.kernel_ridge import kernel_matrix
from rffkern._training.kernel_ridge import likelihood as likelihood_module
from rffkern._training.kernel_ridge.kernel import Kernel
from rffkern._training.kernel_ridge.likelihood import KernelSearch, Likelihood


def sample(rng, n_rows, length_scale, amplitude=2.0, noise=0.01, n_outputs=1):
    """Rows and a function of a Gaussian process at them, with noise."""
    X = rng.standard_normal((n_rows, len(length_scale)))
    covariance = reference.gaussian_kernel(X, X, np.array(length_scale), amplitude) + noise * np.eye(n_rows)
    return X, np.linalg.cholesky(covariance) @ rng.standard_normal((n_rows, n_outputs))


def likelihood(X, targets, logs, n_threads=1, shape="gaussian"):
    """Without a prior on what is free."""
    return Likelihood(X, targets, logs, np.zeros(len(logs), bool), shape, n_threads)


def likeliest_kernel(rows, targets, per_column=True, kernel=None, noise=None):
    return KernelSearch(rows, targets, "gaussian", per_column, None, kernel, noise, "double").likeliest()


@pytest.mark.parametrize("shape", ["gaussian", "exponential"])
@pytest.mark.parametrize(("n_rows", "n_outputs"), [(2, 1), (40, 3), (150, 1)])
def test_value_and_gradient(rng, n_rows, n_outputs, shape):
    X, targets = sample(rng, n_rows, [1.0, 3.0, 0.5], n_outputs=n_outputs)
    logs = np.log([1.7, 0.3, 0.05, 0.8, 0.4, 2.0])
    X[-1] = X[0]
    X += [0.0, 1e6, 0.0]  # differences count alone
    found = likelihood(X, targets, logs, shape=shape)
    value, gradient = found(logs)
    expected = reference.negative_log_likelihood(X, targets, np.exp(-logs[3:]), 1.7, 0.3, 0.05 + 1e-6, shape)
    assert value == pytest.approx(expected, rel=1e-10)
    assert found.value(logs) == pytest.approx(value, rel=1e-12)
    for i in range(len(logs)):
        step = 1e-5 * np.eye(len(logs))[i]
        slope = (found(logs + step)[0] - found(logs - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["gaussian", "exponential"])
@pytest.mark.parametrize(("noise", "is_single"), [(0.05, True), (0.0005, False)])
def test_single_precision_is_near_and_left_where_noise_is_small(rng, shape, noise, is_single):
    X, targets = sample(rng, 200, [1.0, 3.0, 0.5], n_outputs=2)
    logs = np.log([1.7, 0.3, noise, 0.8, 0.4, 2.0])
    value, gradient = likelihood(X, targets, logs, shape=shape)(logs)
    near = Likelihood(X, targets, logs, np.zeros(6, bool), shape, 1, "single")
    for _ in range(2):  # the precision may change between evaluations
        other, slopes = near(logs)
        assert other == pytest.approx(value, rel=1e-5 if is_single else 1e-13)
        np.testing.assert_allclose(slopes, gradient, atol=1e-4 * np.abs(gradient).max() if is_single else 1e-9)
        assert near.dtype == (np.float32 if is_single else np.float64)
        near(logs + (1 if is_single else 10) * np.eye(6)[2])


def test_the_prior_is_in_value_and_gradient(rng):
    X, targets = sample(rng, 30, [1.0, 2.0])
    start, free = np.log([1.0, 0.1, 0.1, 1.0, 1.0]), np.ones(5, bool)
    away = start + np.arange(5.0)
    with_prior = Likelihood(X, targets, start, free, "gaussian", 1)(away)
    without = likelihood(X, targets, start)(away)
    assert with_prior[0] - without[0] == pytest.approx(0.5 * (np.arange(5.0) ** 2).sum() / 25)
    np.testing.assert_allclose(with_prior[1] - without[1], np.arange(5) / 25, atol=1e-9)


def test_bits_do_not_depend_on_the_number_of_threads(rng, monkeypatch):
    monkeypatch.setattr(kernel_matrix, "check_n_threads", lambda n_threads, n_elements: n_threads)
    X, targets = sample(rng, 300, [1.0, 3.0, 0.5])
    logs = np.log([1.7, 0.3, 0.05, 0.8, 0.4, 2.0])
    found = [likelihood(X, targets, logs, n)(logs) for n in (1, 2, 3)]
    assert len({(value, gradient.tobytes()) for value, gradient in found}) == 1


@pytest.mark.slow
def test_recovers_what_made_the_data(rng):
    X, targets = sample(rng, 700, [1.0, 3.0, 30.0], noise=0.05, n_outputs=2)
    kernel = likeliest_kernel(X, targets)
    np.testing.assert_allclose(kernel.length_scale[:2], [1.0, 3.0], rtol=0.25)
    assert kernel.length_scale[2] > 10
    assert kernel.reg_lambda == pytest.approx(0.05, rel=0.25)
    assert kernel.amplitude == pytest.approx(2.0, rel=0.7)


def test_one_length_for_all_columns(rng):
    """In units of their spread; the likelihood is lower than with one each."""
    X, targets = sample(rng, 300, [1.0, 3.0], noise=0.05)
    X = X * [1.0, 100.0]
    found = [likeliest_kernel(X, targets, per_column) for per_column in (False, True)]
    lengths = found[0].length_scale / X.std(axis=0)
    assert lengths[0] == pytest.approx(lengths[1])
    assert 1.0 < lengths[0] < 3.0
    values = [reference.negative_log_likelihood(X, targets, *kernel[:3], kernel.reg_lambda) for kernel in found]
    assert values[0] > values[1] + 10


def test_what_is_given_stays(rng):
    X, targets = sample(rng, 300, [1.0, 3.0], noise=0.05)
    given = Kernel(np.array([1.0, 3.0]), 2.0, 0.0)
    kernel = likeliest_kernel(X, targets, False, given)
    assert kernel[:4] == given[:4]
    assert kernel.reg_lambda == pytest.approx(0.05, rel=0.4)
    kernel = likeliest_kernel(X, targets, noise=0.05)
    assert kernel.reg_lambda == 0.05
    np.testing.assert_allclose(kernel.length_scale, [1.0, 3.0], rtol=0.4)


def test_hopeless_parameters_are_inf_and_not_nan(rng):
    X, targets = sample(rng, 20, [1.0])
    problem = likelihood(X, targets, np.zeros(4))
    for logs in (np.full(4, 800.0), np.array([700.0, 0, 0, 0]), np.array([0, 0, -800.0, 700.0])):
        value, gradient = problem(logs)
        assert not np.isnan(problem.value(logs))
        assert value > 0
        assert not np.isnan(value)
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("n_features", [1, 3])
@pytest.mark.parametrize("size", [1e200, 1e300, 5e307])
def test_columns_whose_squares_overflow_have_finite_length_scales(rng, size, n_features):
    rows = rng.uniform(-1, 1, (40, n_features)) * ([size] + [1.0] * (n_features - 1))
    found = likeliest_kernel(rows, rng.standard_normal((40, 1)), False)
    assert np.isfinite(found.length_scale).all()
    assert (found.length_scale > 0).all()
    if n_features > 1 and size < 1e290:
        ratio = found.length_scale[0] / size / (rows[:, 0] / size).std()
        assert ratio == pytest.approx(found.length_scale[1] / rows[:, 1].std())


def test_the_search_begins_at_the_spread_of_the_rows():
    """With amplitude 1, and a bias and noise of a tenth; what is given stays."""
    rows = np.array([[0.0, 5.0, 0.0], [2.0, 5.0, 20.0], [4.0, 5.0, 40.0], [2.0, 5.0, 20.0]])
    spread = np.array([rows[:, 0].std(), 1.0, rows[:, 2].std()])  # 1 of a column that does not vary
    found = likelihood_module._start(rows, None, None)
    np.testing.assert_allclose(np.exp(found), [1.0, 0.1, 0.1, *(1 / (np.sqrt(3) * spread))])
    kernel = Kernel(np.array([1.0, 2.0, 4.0]), 3.0, 0.5)
    np.testing.assert_allclose(np.exp(likelihood_module._start(rows, kernel, None)), [3, 0.5, 0.1, 1, 0.5, 0.25])
    np.testing.assert_allclose(np.exp(likelihood_module._start(rows, kernel, 0.7))[2], 0.7)


@pytest.mark.parametrize(("per_column", "noise", "expected"), [
    (True, None, [0, 1, 2, 3, 4, 5]), (False, None, [0, 1, 2, 3, 3, 3]),
    (True, 0.1, [0, 1, -1, 2, 3, 4]), (False, 0.1, [0, 1, -1, 2, 2, 2])])
def test_parameters_move_alone_or_together_or_not_at_all(rng, per_column, noise, expected):
    """By gradients that are summed over what moves together; what is given stays where it is."""
    X, targets = sample(rng, 60, [1.0, 3.0, 2.0])
    search = KernelSearch(X, targets, "gaussian", per_column, 1, noise=noise)
    assert search._variables.tolist() == expected
    start = search._start.copy()
    search.on_few_rows()
    moved = search._logs - start
    assert (moved != 0).tolist() == [number >= 0 for number in expected]
    if not per_column:
        np.testing.assert_allclose(moved[3:], moved[3], rtol=1e-12)


@pytest.mark.parametrize("per_column", [True, False])
def test_memory_of_a_search_is_linear_in_the_number_of_columns(rng, per_column):
    X = rng.standard_normal((4, 12_000))
    tracemalloc.start()
    try:
        KernelSearch(X, X[:, :1], "gaussian", per_column, 1).on_few_rows()
        assert tracemalloc.get_traced_memory()[1] < 200_000_000  # a matrix has 1.2 GB
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_the_search_goes_on_from_few_rows_and_takes_their_noise_for_no_proof(rng):
    """More rows than columns' length scales can fit exactly have noise, which few rows did not show."""
    X, targets = sample(rng, 700, [1.0, 3.0, 30.0], noise=0.05)
    search = KernelSearch(X, targets, "exponential", True, 1, precision="double")
    few = search.on_few_rows()
    search._logs[2] = np.log(1e-9)
    more = search.on_all_rows()
    values = [reference.negative_log_likelihood(X, targets, *kernel[:3], kernel.reg_lambda, "exponential")
              for kernel in (few, more)]
    assert values[1] < values[0]
    assert more.shape == "exponential"
    assert more.reg_lambda > 1e-4


@pytest.mark.slow
def test_more_rows_go_on_with_the_curvatures_of_few(rng, monkeypatch):
    """Which saves evaluations, and harms no value."""
    X, targets = sample(rng, 700, [1.0, 3.0, 30.0, 5.0], noise=0.05)
    found = []
    for is_known in (True, False):
        search = KernelSearch(X, targets, "gaussian", True, 1, precision="double")
        search.on_few_rows()
        assert len(search._pairs) > 3
        if not is_known:
            search._pairs = search._pairs[:0]
        calls = []
        monkeypatch.setattr(Likelihood, "__call__", lambda self, logs, calls=calls, call=Likelihood._evaluate:
                            calls.append(1) or call(self, logs))
        kernel = search.on_all_rows()
        monkeypatch.undo()
        found.append((len(calls), reference.negative_log_likelihood(X, targets, *kernel[:3], kernel.reg_lambda)))
    assert found[0][0] < found[1][0]
    assert found[0][1] < found[1][1] + 0.1


def test_a_search_begins_at_given_length_scales_near_which_the_prior_holds_it(rng):
    X, targets = sample(rng, 80, [1.0, 3.0, 0.5])
    starts = np.array([5.0, 0.2, 1.0])
    found = [KernelSearch(X, targets, "gaussian", True, None, inverse_lengths=starts, prior_spread=spread).likeliest()
             for spread in (1e-3, 5.0)]
    np.testing.assert_allclose(1 / found[0].length_scale, starts, rtol=0.05)
    np.testing.assert_allclose(found[1].length_scale, [1.0, 3.0, 0.5], rtol=0.5)


def test_least_noise(rng):
    X, targets = sample(rng, 80, [1.0, 3.0, 0.5], noise=1e-6)
    found = [KernelSearch(X, targets, "gaussian", True, None, least_noise=least).likeliest().reg_lambda
             for least in (1e-6, 0.1)]
    assert found[0] < 0.05
    assert found[1] >= 0.1
