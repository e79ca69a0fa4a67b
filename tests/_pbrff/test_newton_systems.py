"""Newton systems against dense solutions, in all the ways in which rows are split."""

import numpy as np
import pytest

from rffkern._pbrff import linear_svm, newton_systems

ALONE = linear_svm.MachineThreads(1, 1)


def problem(rng, n_samples, width=32, n_threads=1):
    features = rng.standard_normal((n_samples, width))
    sign = np.where(rng.random(n_samples) < 0.5, -1, 1).astype(np.int8)
    threads = linear_svm.MachineThreads(n_threads, n_threads)
    return linear_svm.Problem(features, sign, np.ones(n_samples), linear_svm.LOSSES["hinge"], threads)


def dense(problem_, scale, right):
    """(A A' + S^-1)^-1 right by numpy: rows of scale 0 take no part."""
    rows = np.flatnonzero(scale)
    signed, solution = problem_.sign[rows, None] * problem_.features[rows], np.zeros(len(scale))
    root = np.sqrt(scale[rows])
    matrix = np.eye(len(rows)) + root[:, None] * (signed @ signed.T) * root
    solution[rows] = root * np.linalg.solve(matrix, root * right[rows])
    return solution


# Rows, and how many of them are heavy, light and of scale 0: few rows; more, narrow; all heavy, beyond the width.
SPLITS = [(20, 4, 10, 6), (64, 10, 54, 0), (200, 12, 180, 8), (200, 0, 200, 0), (200, 30, 0, 170), (200, 150, 50, 0)]


@pytest.mark.slow
@pytest.mark.parametrize(("n_samples", "n_heavy", "n_light", "n_zero"), SPLITS)
@pytest.mark.parametrize("widest", [1000, 10])
@pytest.mark.parametrize("by_pivots", [False, True])
def test_solutions(rng, monkeypatch, n_samples, n_heavy, n_light, n_zero, widest, by_pivots):
    monkeypatch.setattr(linear_svm, "_WIDEST", widest)
    monkeypatch.setattr(newton_systems, "_ERROR", 1e-8)
    machine = problem(rng, n_samples)
    kinds = rng.permutation(np.repeat([1e7, 1.0, 0.0], [n_heavy, n_light, n_zero]))
    scale = kinds * rng.uniform(0.5, 2, n_samples)
    right = machine.project(rng.standard_normal(32)) + rng.standard_normal(n_samples) / (1 + scale)
    system = linear_svm._split_system(machine, by_pivots)
    for _ in range(2):  # the second time into memory that is used
        assert system.factorise(scale)
        expected = dense(machine, scale, right)
        np.testing.assert_allclose(system.solve(right), expected, atol=1e-5)


@pytest.mark.parametrize("n_samples", [60, 100, 300])
def test_conjugate_gradients_mend_what_factors_leave_out(rng, monkeypatch, n_samples):
    """And end as soon as the error is small."""
    machine, scale = problem(rng, n_samples), rng.uniform(0, 2, n_samples) ** 4
    right, errors = rng.standard_normal(n_samples), []
    expected = dense(machine, scale, right)
    system = linear_svm._split_system(machine, True)
    assert system.factorise(scale)
    for error in (1e-1, 1e-3, 1e-9):
        monkeypatch.setattr(newton_systems, "_ERROR", error)
        errors.append(np.abs(system.solve(right) - expected).max() / np.abs(expected).max())
    assert errors[0] < 0.1
    assert errors[1] < 1e-3
    assert errors[2] < 1e-8


def test_light_rows_are_seen_beside_heavy_ones(rng):
    """Scales of 1e14 and 1, as at the end of an interior point method: I + A' S A would be that of the heavy rows."""
    machine = problem(rng, 300)
    scale = np.where(np.arange(300) < 10, 1e14, 1.0)
    right = rng.standard_normal(300)
    system = linear_svm._split_system(machine, False)
    assert system.factorise(scale)
    found = system.solve(right)
    residual = machine.project(machine.combine(found)) + found / scale - right
    assert np.abs(residual).max() < 1e-9


@pytest.mark.parametrize("n_samples", [20, 60, 300])
def test_directions_are_newton_s(rng, n_samples):
    machine = problem(rng, n_samples)
    coef, scale = rng.standard_normal(32), 2e4 * (rng.random(n_samples) < 0.7)
    signed = machine.sign[:, None] * machine.features
    descent = signed.T @ (scale * (1 - signed @ coef)) - coef
    expected = np.linalg.solve(np.eye(32) + (signed.T * scale) @ signed, descent)
    for system in (linear_svm._split_system(machine, False), linear_svm._ColumnSystem(machine)):
        assert system.factorise(scale)
        np.testing.assert_allclose(system.direction(descent, coef), expected, atol=1e-9)


@pytest.mark.parametrize("n_samples", [50, 600])
def test_bits_do_not_depend_on_threads(rng, n_samples, monkeypatch):
    monkeypatch.setattr(linear_svm, "_WIDEST", 10)
    features, right = rng.standard_normal((n_samples, 272)), rng.standard_normal(n_samples)
    scale, found = 10.0 ** rng.integers(-2, 10, n_samples), []
    for n_threads in (1, 2, 3):
        machine = problem(np.random.default_rng(1), n_samples, 272, n_threads)
        machine = linear_svm.Problem(features, machine.sign, machine.bound, machine.loss, machine.threads)
        system = linear_svm._split_system(machine, False)
        assert system.factorise(scale)
        found.append(system.solve(right).tobytes())
    assert found[0] == found[1] == found[2]
