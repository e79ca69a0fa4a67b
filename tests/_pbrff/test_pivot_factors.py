"""Factors by pivots among the rows, against numpy."""

import numpy as np
import pytest

from rffkern._pbrff import linear_svm, pivot_factors
from rffkern._pbrff.pivot_factors import PivotFactor


def problem(n_samples, width=64, n_threads=1, n_columns=None):
    """Rows with signs; features of few columns of which all others are sums, if so many are given."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_samples, width if n_columns is None else n_columns))
    if n_columns is not None:
        features = features @ rng.standard_normal((n_columns, width)) / np.sqrt(width)
    sign = np.where(rng.random(n_samples) < 0.5, -1, 1).astype(np.int8)
    threads = linear_svm.MachineThreads(n_threads, n_threads)
    return linear_svm.Problem(features, sign, np.ones(n_samples), linear_svm.LOSSES["hinge"], threads)


def factor(machine, most=10**6):
    return PivotFactor(machine, (machine.features**2).sum(axis=1), most)


def dense(machine, root):
    """I + R A A' R."""
    rows = (root * machine.sign)[:, None] * machine.features
    return np.eye(len(root)) + rows @ rows.T


@pytest.mark.parametrize("n_samples", [1, 5, 130, 300])
def test_all_rows_as_pivots(n_samples, monkeypatch):
    """Rows of a root of 0 are never pivots."""
    monkeypatch.setattr(pivot_factors, "_LEFT", 0.0)
    machine, rng = problem(n_samples), np.random.default_rng(1)
    root = rng.uniform(0.1, 3, n_samples) * (np.arange(n_samples) % 7 > 0)
    found, right = factor(machine), rng.standard_normal(n_samples)
    for scale in (1.0, 0.3):  # the second time with products that are known
        assert found.factorise(scale * root)
        np.testing.assert_allclose(found.solve(right), np.linalg.solve(dense(machine, scale * root), right), atol=1e-9)


@pytest.mark.slow
def test_few_pivots_where_rows_are_alike():
    """400 rows of rank 20, one panel of pivots: conjugate gradients have little left to mend."""
    machine, root = problem(400, n_columns=20), np.full(400, 10.0)
    matrix, found = dense(machine, root), factor(machine, 128)
    assert found.factorise(root)
    values = np.linalg.eigvals(np.column_stack([found.solve(column) for column in matrix])).real
    assert np.linalg.cond(matrix) > 1e4
    assert values.max() < 10 * values.min()


def test_rows_that_do_not_matter_are_no_pivots():
    """Of 600 rows 40 have scales: the others are solved by their diagonal, as they nearly are."""
    machine, root = problem(600), np.where(np.arange(600) < 40, 30.0, 1e-4)
    found = factor(machine, 128)
    assert found.factorise(root)
    right = np.ones(600)
    np.testing.assert_allclose(found.solve(right), np.linalg.solve(dense(machine, root), right), atol=1e-2)


def test_too_many_pivots_are_given_up():
    machine = problem(600, width=512)
    assert not factor(machine, 128).factorise(np.full(600, 10.0))
    assert factor(machine, 600).factorise(np.full(600, 10.0))


def test_bits_do_not_depend_on_threads():
    root, right, found = np.random.default_rng(1).uniform(0, 3, 2500), np.ones(2500), []
    for n_threads in (1, 2, 3):
        some = factor(problem(2500, 128, n_threads))
        assert some.factorise(root)
        found.append(some.solve(right).tobytes())
    assert found[0] == found[1] == found[2]
