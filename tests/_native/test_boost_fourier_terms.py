"""Pairs of cosines of boosting against their NumPy twin and finite differences, and the descent."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import boosting, simd, solvers

TILE = 128


def objective(X, gradient, weight, omega, reg_lambda, mu):
    """Value, its gradient and amplitudes (2, n_outputs) at omega, in double precision."""
    rows = weight > 0
    X, G, w = X[rows].astype(float), gradient[:, rows].astype(float), weight[rows].astype(float)
    W = w.sum()
    C, S = np.cos(X @ omega), np.sin(X @ omega)
    centred_c, centred_s = C - w @ C / W, S - w @ S / W
    centred = np.array([centred_c, centred_s])
    matrix = (w * centred) @ centred.T
    residual = G - w * (G.sum(axis=1, keepdims=True) / W)
    products = np.array([residual @ centred_c, residual @ centred_s])
    amplitudes = np.linalg.solve(matrix + mu * W * np.eye(2), products)
    total = np.sum(residual**2 / w)
    fitted = amplitudes[0][:, None] * centred_c + amplitudes[1][:, None] * centred_s
    along = np.sum((residual - w * fitted) * (amplitudes[1][:, None] * C - amplitudes[0][:, None] * S), axis=0)
    value = 1 - np.sum(amplitudes * products) / total + reg_lambda * omega @ omega
    return value, -2 / total * (X.T @ along) + 2 * reg_lambda * omega, amplitudes


class TermProblem:
    """Rows of boosting with padding, and a Fourier term on some of their columns."""

    def __init__(self, seed, n_rows, n_columns, n_outputs=1, weighted=True, size=None):
        rng = np.random.default_rng(seed)
        self.n_tiles = (n_rows + TILE - 1) // TILE
        n = TILE * self.n_tiles
        self.columns = np.ascontiguousarray(rng.standard_normal((n_columns, n)), np.float32)
        self.weight = np.zeros(n, np.float32)
        self.weight[:n_rows] = rng.uniform(0.2, 3, n_rows) if weighted else 1
        self.subset = rng.permutation(n_columns)[: size or max(1, n_columns // 2)].astype(np.intp)
        self.omega = rng.standard_normal(self.subset.size) / np.sqrt(self.subset.size)
        signal = np.cos(self.columns[self.subset].T @ (1.1 * self.omega) - 1)
        gradient = rng.standard_normal((n_outputs, 1)) * signal + 0.5 * rng.standard_normal((n_outputs, n)) + 0.3
        self.gradient = (gradient * self.weight).astype(np.float32)
        self.first_tile, self.mu, self.reg_lambda = 0, 0.01, 0.01
        self.search = solvers.LBFGS(self.subset.size, 10, 1e-9, 1e-5, 1e-6)

    @property
    def n_outputs(self):
        return len(self.gradient)

    @property
    def rows(self):
        return slice(TILE * self.first_tile, TILE * (self.first_tile + self.n_tiles))

    def twin(self, omega=None):
        omega = self.omega if omega is None else omega
        return objective(self.columns[self.subset][:, self.rows].T, self.gradient[:, self.rows], self.weight[self.rows],
                         omega, self.reg_lambda, self.mu)

    def memory(self):
        """Scratch arrays, filled with what no function may read."""
        return (np.full(boosting.scratch_size(self.subset.size, self.n_tiles), np.nan, np.float32),
                np.full(boosting.sums_size(self.subset.size, self.n_outputs), np.nan))

    def objective(self, omega=None):
        gradient, amplitudes = np.empty(self.subset.size), np.empty((2, self.n_outputs))
        omega = self.omega if omega is None else omega
        value = boosting.term_objective(self.columns, self.gradient, self.weight, self.subset, omega,
                                        self.reg_lambda, self.mu, self.first_tile, self.n_tiles, gradient, amplitudes,
                                        *self.memory())
        return value, gradient, amplitudes

    def descend(self):
        omega, amplitudes = self.omega.copy(), np.empty((2, self.n_outputs))
        value = boosting.descend_term(self.search, self.columns, self.gradient, self.weight, self.subset, omega,
                                      self.reg_lambda, self.mu, self.first_tile, self.n_tiles, 0.1, amplitudes,
                                      *self.memory())
        return value, omega, amplitudes

    def choose(self, omegas, reg_lambdas):
        values, n_columns = np.empty(len(omegas)), len(self.columns)
        best = boosting.choose_term(self.columns, self.gradient, self.weight, omegas, reg_lambdas, self.mu,
                                    self.first_tile, self.n_tiles, values, np.empty(n_columns, np.intp),
                                    np.full(boosting.sums_size(n_columns, self.n_outputs), np.nan))
        return best, values

    def evaluate(self, amplitudes, n_threads=1):
        out = np.empty((self.n_outputs, self.columns.shape[1]), np.float32)
        boosting.evaluate_term(self.columns, self.subset, self.omega, amplitudes, out, n_threads)
        return out


def term_problems(**fixed):
    """Few rows and many, around the edges of tiles and of blocks of four tiles."""
    choices = {"seed": st.integers(0, 999), "n_rows": st.sampled_from([5, 127, 128, 129, 511, 512, 513, 1300]),
               "n_columns": st.integers(1, 9), "n_outputs": st.sampled_from([1, 1, 2, 5]), "weighted": st.booleans()}
    return st.builds(TermProblem, **choices | {name: st.just(value) for name, value in fixed.items()})


ROUNDING = 2e-5  # of single precision, relative to values of about 1


def assert_alike(found, expected, tolerance=ROUNDING):
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance * (1 + np.abs(other).max()))


@given(term_problems())
def test_objective(problem):
    assert_alike(problem.objective(), problem.twin())


@given(term_problems())
def test_gradient_of_the_twin_by_finite_differences(problem):
    """Thus of the kernel, in more digits than single precision has."""
    gradient, step = problem.twin()[1], 1e-5
    for j in range(gradient.size):
        there, back = problem.omega.copy(), problem.omega.copy()
        there[j] += step
        back[j] -= step
        difference = (problem.twin(there)[0] - problem.twin(back)[0]) / (2 * step)
        assert gradient[j] == pytest.approx(difference, abs=1e-6 * (1 + np.abs(gradient).max()))


def test_gradient_by_finite_differences():
    problem = TermProblem(3, 5000, 6, 2)
    gradient, step = problem.objective()[1], 0.01
    for j in range(gradient.size):
        values = []
        for side in (-2, -1, 1, 2):
            moved = problem.omega.copy()
            moved[j] += side * step
            values.append(problem.objective(moved)[0])
        difference = (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * step)
        assert gradient[j] == pytest.approx(difference, abs=2e-4)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_some_of_the_tiles(n_outputs):
    problem = TermProblem(4, 9 * TILE, 5, n_outputs)
    problem.first_tile, problem.n_tiles = 2, 6
    assert_alike(problem.objective(), problem.twin())
    whole = problem.objective()
    outside = np.r_[0 : 2 * TILE, 8 * TILE : 9 * TILE]
    problem.columns[:, outside], problem.gradient[:, outside], problem.weight[outside] = np.nan, np.nan, np.nan
    assert_same_bits(problem.objective(), whole)
    assert_alike(problem.descend()[2:], problem.twin(problem.descend()[1])[2:], 1e-3)


def assert_same_bits(found, expected):
    for mine, other in zip(found, expected, strict=True):
        assert np.asarray(mine).tobytes() == np.asarray(other).tobytes()


@given(term_problems(weighted=True))
def test_padding_has_no_influence(problem):
    before = problem.objective(), problem.descend()
    problem.columns[:, problem.weight == 0] = np.nan
    assert_same_bits(problem.objective(), before[0])
    assert_same_bits(problem.descend(), before[1])


@given(term_problems())
def test_a_weight_repeats_a_row(problem):
    """Rows of weight 1, 2, 3 in turn are those rows so often."""
    times = np.where(problem.weight > 0, 1 + np.arange(problem.weight.size) % 3, 0)
    unweighted = problem.gradient / np.where(problem.weight > 0, problem.weight, 1)
    problem.gradient, problem.weight = (unweighted * times).astype(np.float32), times.astype(np.float32)
    found = problem.objective()
    order = np.repeat(np.arange(times.size), times)
    problem.n_tiles = (order.size + TILE - 1) // TILE
    missing = TILE * problem.n_tiles - order.size
    problem.columns = np.ascontiguousarray(np.pad(problem.columns[:, order], ((0, 0), (0, missing))))
    padded = np.pad(unweighted[:, order], ((0, 0), (0, missing)))
    problem.gradient = np.ascontiguousarray(padded, np.float32)
    problem.weight = np.pad(np.ones(order.size, np.float32), (0, missing))
    assert_alike(problem.objective(), found)


@given(term_problems())
def test_the_scale_of_weights_changes_nothing(problem):
    value, gradient, amplitudes = problem.objective()
    problem.weight, problem.gradient = problem.weight * np.float32(8), problem.gradient * np.float32(8)
    assert_same_bits(problem.objective(), (value, gradient, amplitudes))


@given(term_problems())
def test_descent_goes_down(problem):
    value, omega, amplitudes = problem.descend()
    assert value <= problem.objective()[0] + 1e-6
    assert_same_bits(problem.objective(omega)[0:3:2], (value, amplitudes))


def test_a_search_serves_descents_of_different_sizes():
    """What a search of more variables has left in its arrays is not read."""
    problems = [TermProblem(seed, 1000, 12, size=size) for seed, size in ((0, 12), (1, 3), (2, 7), (3, 1))]
    alone = [problem.descend() for problem in problems]
    search = solvers.LBFGS(12, 10, 1e-9, 1e-5, 1e-6)
    for problem, expected in zip(problems, alone, strict=True):
        problem.search = search
        assert_same_bits(problem.descend(), expected)


def test_descents_side_by_side():
    """Members are trained by threads of their own; none sees another."""
    problems = [TermProblem(seed, 2000, 6) for seed in range(4)]
    alone = [problem.descend() for problem in problems]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            for found, expected in zip(pool.map(TermProblem.descend, problems), alone, strict=True):
                assert_same_bits(found, expected)


def test_descent_finds_a_cosine():
    """The gradient is a cosine of 1.1 omega with noise; the start is somewhat off."""
    problem = TermProblem(5, 4000, 10, 1, size=3)
    problem.reg_lambda, problem.mu = 0.0, 1e-6
    true_omega, problem.omega = 1.1 * problem.omega, 0.8 * problem.omega
    value, omega, amplitudes = problem.descend()
    assert problem.search.n_iterations <= 10
    assert value < problem.objective(true_omega)[0] < problem.objective()[0] - 0.01
    np.testing.assert_allclose(omega, true_omega, atol=0.05)
    assert_alike((value, amplitudes), problem.twin(omega)[0:3:2], 1e-4)


@given(term_problems(n_columns=8))
def test_choice(problem):
    rng = np.random.default_rng(problem.subset.size)
    omegas = rng.standard_normal((6, 8)) * (rng.random((6, 8)) < 0.4)
    omegas[2] = 0
    reg_lambdas = rng.uniform(0, 0.1, 6)
    best, values = problem.choose(omegas, reg_lambdas)
    problem.subset = np.arange(8)
    for omega, reg_lambda, value in zip(omegas, reg_lambdas, values, strict=True):
        problem.reg_lambda = reg_lambda
        assert value == pytest.approx(problem.twin(omega)[0], abs=ROUNDING)
    assert best == values.argmin()
    assert values[2] == pytest.approx(1, abs=ROUNDING)


def test_choice_of_equal_and_infinite_values():
    problem = TermProblem(6, 300, 4)
    omegas = np.tile(np.ones(4), (4, 1))
    assert problem.choose(omegas, np.zeros(4))[0] == 0
    assert problem.choose(omegas, np.array([np.nan, 1.0, 0.5, 0.5]))[0] == 2
    assert problem.choose(omegas, np.array([-np.inf, np.inf, np.nan, 0.5]))[0] == 3
    assert problem.choose(omegas, np.full(4, np.nan))[0] == 0


def test_evaluation_on_threads():
    problem, amplitudes = TermProblem(8, 20_000, 5), np.ones((2, 1))
    np.testing.assert_array_equal(problem.evaluate(amplitudes, 3), problem.evaluate(amplitudes))


@given(term_problems())
def test_evaluation(problem):
    amplitudes = np.random.default_rng(0).standard_normal((2, problem.n_outputs))
    angles = problem.omega @ problem.columns[problem.subset]
    expected = amplitudes.T @ np.array([np.cos(angles), np.sin(angles)])
    np.testing.assert_allclose(problem.evaluate(amplitudes), expected, atol=2e-5)


@pytest.mark.parametrize("constant", [0.0, 1.0, 0.3, 1e-15, 1e10])
def test_a_gradient_without_anything_to_learn(constant):
    """Nothing is divided by 0; a gradient that is constant has no amplitudes."""
    problem = TermProblem(7, 400, 4, weighted=False)
    problem.gradient[:, :400] = constant
    value, gradient, amplitudes = problem.objective()
    assert np.isfinite([value, *gradient, *problem.descend()[1]]).all()
    np.testing.assert_allclose(amplitudes, 0, atol=1e-5 * constant)
    assert value == pytest.approx(1 + 0.01 * problem.omega @ problem.omega, abs=1e-3)


def test_no_weight():
    problem = TermProblem(8, 200, 4)
    problem.weight[:], problem.gradient[:] = 0, 0
    value, gradient, amplitudes = problem.objective()
    assert value == pytest.approx(1 + 0.01 * problem.omega @ problem.omega)
    np.testing.assert_allclose(gradient, 0.02 * problem.omega)
    assert not amplitudes.any()


def test_omegas_beyond_single_precision():
    problem = TermProblem(9, 200, 4)
    problem.omega[:] = 1e30
    value, gradient, amplitudes = problem.objective()
    assert np.isfinite([value, *gradient, *amplitudes.ravel()]).all()


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_levels_agree(level, n_outputs):
    problem = TermProblem(10, 1300, 21, n_outputs)
    found, amplitudes = problem.objective(), np.ones((2, n_outputs))
    out = problem.evaluate(amplitudes)
    assert_alike(found, problem.twin())
    simd.select("baseline")
    assert_alike(found, problem.objective(), 2e-6)
    np.testing.assert_allclose(out, problem.evaluate(amplitudes), atol=2e-6)
