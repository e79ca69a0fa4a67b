"""Ridge regressions by conjugate gradients are those of dense systems of equations."""

import numpy as np
import pytest
import reference

from rffkern._native.sparse import SHAPES
from rffkern._rows.scaling import no_scaling
from rffkern._rows.weights import RowWeights
from rffkern._training.kernel_ridge.kernel_matrix import KernelMatrix, Landmarks
from rffkern._training.kernel_ridge.ridge_systems import ALL_ROWS, solve_systems

N, FOLDS = 700, 3


class Problem:
    """Rows with weights and two targets."""

    def __init__(self, shape="exponential", precision="double", n_landmarks=100, cache_bytes=1 << 20, n_threads=1,
                 n=N):
        rng = np.random.default_rng(1)
        self.X = rng.standard_normal((n, 4))
        self.targets = np.stack([np.sin(2 * self.X[:, 0]), self.X[:, 1] * self.X[:, 2]])
        self.targets += 0.1 * rng.standard_normal(self.targets.shape)
        self.weights = rng.uniform(0, 2, n) * (rng.random(n) < 0.9)
        self.folds = rng.integers(0, FOLDS, n)
        units = no_scaling(4)._replace(inverse_scale=np.full(4, 0.5))
        self.K = reference.kernel_of_shape(self.X, self.X, 2.0, shape=shape)
        self.matrix = KernelMatrix(self.X, units, shape, RowWeights(n), precision, cache_bytes, n_threads)
        self.landmarks = np.arange(n_landmarks) * 3 % n

    def solve(self, systems, tolerance, max_iter, targets=None):
        return solve_systems(self.matrix, systems, self.targets if targets is None else targets, self.weights,
                             self.folds, self.landmarks, tolerance, max_iter)

    def dense(self, system):
        """Predictions of the regression by a dense system without the rows of weight 0."""
        used = (self.weights > 0) & (self.folds != system[0])
        A = self.K[np.ix_(used, used)] + system[1] * np.diag(1 / self.weights[used])
        return (self.K[:, used] @ np.linalg.solve(A, self.targets[:, used].T)).T


ASKED = [(ALL_ROWS, 0.1), (0, 0.1), (2, 0.1), (1, 0.01)]


@pytest.mark.slow
@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("n_landmarks", [1, 100])
def test_solutions_are_those_of_dense_systems(shape, n_landmarks):
    problem = Problem(shape, n_landmarks=n_landmarks)
    found = problem.solve(ASKED, 1e-10, 2000)
    assert found.residual <= 1e-10
    for system, predictions, coefficients in zip(ASKED, found.predictions, found.coefficients, strict=True):
        np.testing.assert_allclose(predictions, problem.dense(system), atol=1e-6)
        assert (coefficients[:, (problem.folds == system[0]) | (problem.weights == 0)] == 0).all()
        np.testing.assert_allclose(coefficients @ problem.K, predictions, atol=1e-9)


def test_single_precision_agrees_to_its_rounding():
    problem = Problem(precision="single")
    found = problem.solve(ASKED, 1e-7, 2000)
    for system, predictions in zip(ASKED, found.predictions, strict=True):
        np.testing.assert_allclose(predictions, problem.dense(system), atol=1e-5)


def test_the_residual_is_that_of_the_equations():
    problem = Problem()
    found = problem.solve(ASKED[:1], 1e-3, 2000)
    roots = np.sqrt(problem.weights)
    b = np.divide(found.coefficients[0], roots, out=np.zeros_like(found.coefficients[0]), where=roots > 0)
    right = roots * problem.targets
    left = right - roots * (found.coefficients[0] @ problem.K) - 0.1 * b
    relative = np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    assert found.residual == pytest.approx(relative.max(), rel=1e-6)
    assert found.residual <= 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["single", "double"])
def test_bits_depend_neither_on_threads_nor_on_what_is_kept(precision, eight_cpus):
    found = [Problem(precision=precision, cache_bytes=n_bytes, n_threads=n_threads, n=1500).solve(
        ASKED, 1e-4, 50) for n_bytes, n_threads in [(0, 1), (1 << 30, 1), (10**7, 4)]]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].coefficients, other.coefficients)
        np.testing.assert_array_equal(found[0].predictions, other.predictions)


def test_a_preconditioner_saves_iterations():
    few, many = (Problem(n_landmarks=n).solve(ASKED[:1], 1e-3, 2000).n_iter for n in (1, 200))
    assert many < few / 2


def test_targets_of_zeros_and_no_iterations():
    problem = Problem()
    assert problem.solve(ASKED, 1e-3, 10, np.zeros((1, N))).n_iter == 0
    found = problem.solve(ASKED, 1e-3, 0)
    assert (found.n_iter, found.residual) == (0, 1.0)
    assert not found.predictions.any()


def test_rows_that_repeat_are_solved():
    """Kernels between equal landmarks have no inverse."""
    X = np.zeros((300, 2))
    matrix = KernelMatrix(X, no_scaling(2), "gaussian", RowWeights(300), "single", 0, 1)
    found = solve_systems(matrix, [(ALL_ROWS, 0.5)], np.ones((1, 300)), np.ones(300), np.zeros(300, np.intp),
                          np.arange(50), 1e-8, 100)
    np.testing.assert_allclose(found.predictions, 300 / 300.5, atol=1e-6)


def test_landmarks():
    problem = Problem(n_landmarks=40)
    landmarks = Landmarks(problem.matrix, problem.landmarks)
    Z = np.zeros((problem.matrix.n_padded, 40))
    Z[:N] = problem.K[:, problem.landmarks]
    scale = np.zeros(len(Z))
    scale[:N] = np.sqrt(problem.weights)
    gram = landmarks.gram(scale)
    np.testing.assert_allclose(np.tril(gram), np.tril((Z * scale[:, None] ** 2).T @ Z), rtol=1e-10)
    vectors, weights = np.random.default_rng(0).standard_normal((3, len(Z))), np.ones((2, 40))
    vectors[:, N:] = 0
    np.testing.assert_allclose(landmarks.correlate(vectors), vectors @ Z, atol=1e-9)
    np.testing.assert_allclose(landmarks.combine(weights)[:, :N], weights @ Z[:N].T, rtol=1e-12)


def test_out_of_fold_predictions_are_those_of_the_systems_without_the_fold():
    problem = Problem()
    found = problem.solve([*ASKED[1:2], (1, 0.1), (ALL_ROWS, 0.1)], 1e-10, 2000)
    predicted = found.out_of_fold(problem.folds)
    for fold in range(FOLDS):  # the last fold is left out by none
        here, system = problem.folds == fold, (fold if fold < 2 else ALL_ROWS, 0.1)
        np.testing.assert_allclose(predicted[:, here], problem.dense(system)[:, here], atol=1e-6)
