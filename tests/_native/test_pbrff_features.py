"""Sums and features of pseudo-Bayesian landmarks against their NumPy twins."""

import numpy as np
from helpers.landmark import cosine_sums, padded
from helpers.packing import TOLERANCE, problems
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import pbrff

landmark_problems = problems(n_components=st.sampled_from([1, 2, 3, 4, 6, 10, 15]))


@given(landmark_problems, st.sampled_from([1, 2, 3, 5]))
def test_cosine_sums(problem, n_landmarks):
    n_terms = len(problem.omegas)
    if n_terms % n_landmarks:
        n_landmarks = 1
    n_components = n_terms // n_landmarks
    group = np.arange(n_landmarks) % 2
    sign = np.where(np.repeat(group, n_components) == 0, 1, -1)
    expected = sign * ((problem.weight * problem.y) @ np.cos(problem.X @ problem.omegas.T - problem.phases))
    np.testing.assert_allclose(cosine_sums(problem, group, n_components), expected, rtol=0,
                               atol=TOLERANCE[problem.rows.dtype.type] * problem.weight.sum())


@given(landmark_problems, st.sampled_from([1, 2, 3, 5]))
def test_features(problem, n_landmarks):
    rows, n_terms = problem.rows, len(problem.omegas)
    if n_terms % n_landmarks:
        n_landmarks = 1
    shape = n_landmarks, n_terms // n_landmarks
    posterior = np.random.default_rng(n_terms).dirichlet(np.ones(shape[1]), n_landmarks)
    out = np.full((len(problem.X), n_landmarks + 2), -7.0, rows.dtype)
    pbrff.landmark_features(rows.tiles, *padded(problem.omegas, problem.phases, rows.dtype),
                            posterior.astype(rows.dtype), out, np.zeros((1, n_landmarks * 128), rows.dtype), 1)
    cosines = np.cos(problem.X @ problem.omegas.T - problem.phases).reshape(-1, *shape)
    np.testing.assert_allclose(out[:, :n_landmarks], (cosines * posterior).sum(axis=2),
                               atol=TOLERANCE[rows.dtype.type])
    assert (out[:, n_landmarks:] == -7).all()


@given(problems(n_samples=4500, n_components=st.just(10)))
def test_bits_do_not_depend_on_threads(problem):
    found = [cosine_sums(problem, np.array([0, 1]), 5, n).tobytes() for n in (1, 2, 3)]
    assert found[0] == found[1] == found[2]
