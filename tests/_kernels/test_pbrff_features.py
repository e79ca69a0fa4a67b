"""Weighted cosines and features of pseudo-Bayesian landmarks against their NumPy twins."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern._data.scaling import no_scaling
from rffkern._data.tiles import pack, tiled
from rffkern._kernels import packing, pbrff_features

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-11}


class Problem(NamedTuple):
    """Random rows with signs and weights, and the terms of some landmarks."""

    X: np.ndarray
    signed_weight: np.ndarray
    omegas: np.ndarray
    phases: np.ndarray
    n_landmarks: int
    dtype: type

    @property
    def n_components(self):
        return len(self.omegas) // self.n_landmarks

    @property
    def tiles(self):
        return pack(self.X, no_scaling(self.X.shape[1]), np.dtype(self.dtype), 1)[0]

    @property
    def cosines(self):
        return np.cos(self.X @ self.omegas.T - self.phases)


def make_problem(seed, n_samples, n_features, n_landmarks, n_components, dtype):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features)).astype(dtype).astype(np.float64)
    signed_weight = (rng.choice([-1, 1], n_samples) * rng.uniform(0.1, 2, n_samples)).astype(dtype).astype(np.float64)
    n_terms = n_landmarks * n_components
    omegas = rng.standard_normal((n_terms, n_features)) * np.sqrt(2 / n_features)
    return Problem(X, signed_weight, omegas, rng.uniform(-np.pi, np.pi, n_terms), n_landmarks, dtype)


# Rows around the edges of a tile (128) and of a sum (2048).
problems = st.builds(make_problem, st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 127, 128, 129, 2047, 2048, 2049]),
                     st.integers(1, 23), st.sampled_from([1, 2, 3, 5]), st.sampled_from([1, 2, 3, 4, 6, 10]),
                     st.sampled_from([np.float32, np.float64]))


def padded(problem):
    """Omegas and phases in half turns, with zeros after the last term."""
    n_terms, n_features = problem.omegas.shape
    n_padded = -(-n_terms // 4) * 4 + 4
    half_turns, shifts = np.zeros((n_padded, n_features), problem.dtype), np.zeros(n_padded, problem.dtype)
    half_turns[:n_terms], shifts[:n_terms] = problem.omegas / np.pi, problem.phases / np.pi
    return half_turns, shifts


def weighted_cosines(problem, group, sums, n_threads=1):
    targets = np.stack([tiled(sign * problem.signed_weight, np.dtype(problem.dtype)) for sign in (1, -1)])
    partial = np.zeros((-(-len(problem.X) // packing.ROW_BLOCK), sums.size))
    pbrff_features.weighted_cosines(problem.tiles, targets, group, *padded(problem), problem.n_components, sums,
                                    partial, n_threads)
    return sums


@given(problems)
def test_weighted_cosines_are_added(problem):
    group = np.arange(problem.n_landmarks) % 2
    sign = np.where(np.repeat(group, problem.n_components) == 0, 1, -1)
    expected = 3 + sign * (problem.signed_weight @ problem.cosines)
    found = weighted_cosines(problem, group, np.full(len(problem.omegas), 3.0))
    total = np.abs(problem.signed_weight).sum()
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[problem.dtype] * total)


@given(problems)
def test_features(problem):
    """Columns beyond the landmarks are left as they are."""
    shape = problem.n_landmarks, problem.n_components
    posterior = np.random.default_rng(shape).dirichlet(np.ones(shape[1]), shape[0])
    out = np.full((len(problem.X), problem.n_landmarks + 2), -7.0, problem.dtype)
    pbrff_features.landmark_features(problem.tiles, *padded(problem), posterior.astype(problem.dtype), out,
                                     np.zeros((1, problem.n_landmarks * 128), problem.dtype), 1)
    expected = (problem.cosines.reshape(-1, *shape) * posterior).sum(axis=2)
    np.testing.assert_allclose(out[:, : problem.n_landmarks], expected, atol=TOLERANCE[problem.dtype])
    assert (out[:, problem.n_landmarks :] == -7).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_do_not_depend_on_threads(dtype):
    problem = make_problem(0, 20_000, 5, 2, 5, dtype)
    group, sums = np.array([0, 1]), [np.zeros(10) for _ in range(3)]
    found = [weighted_cosines(problem, group, sums[n], n + 1).tobytes() for n in range(3)]
    assert found[0] == found[1] == found[2]
