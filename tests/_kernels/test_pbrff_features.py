"""Agreements and features of pseudo-Bayesian landmarks against their NumPy twins; k-means."""

import numpy as np
import pytest
import reference
from helpers.packing import TOLERANCE, problems
from hypothesis import given
from hypothesis import strategies as st

from rffkern._data.tiles import tiled
from rffkern._gbrff.landmark_learner import draw_rows, pseudo_posterior
from rffkern._kernels import pbrff_features
from rffkern._pbrff.kmeans import kmeans

landmark_problems = problems(n_components=st.sampled_from([1, 2, 3, 4, 6, 10, 15]))


def padded(omegas, phases, dtype):
    n_padded = -(-len(omegas) // 4) * 4 + 4
    half_turns, shifts = np.zeros((n_padded, omegas.shape[1]), dtype), np.zeros(n_padded, dtype)
    half_turns[: len(omegas)], shifts[: len(phases)] = omegas / np.pi, phases / np.pi
    return half_turns, shifts


def agreements(problem, group, n_components, n_threads=1):
    rows = problem.rows
    targets = np.stack([tiled(problem.weight * sign, rows.dtype) for sign in (problem.y, -problem.y)])
    sums = np.zeros(len(problem.omegas))
    pbrff_features.agreements(rows.store.tiles, targets, group, *padded(problem.omegas, problem.phases, rows.dtype),
                          n_components, sums, np.zeros((len(rows.partial), sums.size)), n_threads)
    return sums


@given(landmark_problems, st.sampled_from([1, 2, 3, 5]))
def test_agreements(problem, n_landmarks):
    n_terms = len(problem.omegas)
    if n_terms % n_landmarks:
        n_landmarks = 1
    n_components = n_terms // n_landmarks
    group = np.arange(n_landmarks) % 2
    sign = np.where(np.repeat(group, n_components) == 0, 1, -1)
    expected = sign * ((problem.weight * problem.y) @ np.cos(problem.X @ problem.omegas.T - problem.phases))
    np.testing.assert_allclose(agreements(problem, group, n_components), expected, rtol=0,
                               atol=TOLERANCE[problem.rows.dtype.type] * problem.weight.sum())


@given(landmark_problems, st.sampled_from([1, 2, 3, 5]))
def test_features(problem, n_landmarks):
    rows, n_terms = problem.rows, len(problem.omegas)
    if n_terms % n_landmarks:
        n_landmarks = 1
    shape = n_landmarks, n_terms // n_landmarks
    posterior = np.random.default_rng(n_terms).dirichlet(np.ones(shape[1]), n_landmarks)
    out = np.full((len(problem.X), n_landmarks + 2), -7.0, rows.dtype)
    pbrff_features.landmark_features(rows.store.tiles, *padded(problem.omegas, problem.phases, rows.dtype),
                                 posterior.astype(rows.dtype), out, np.zeros((1, n_landmarks * 128), rows.dtype), 1)
    cosines = np.cos(problem.X @ problem.omegas.T - problem.phases).reshape(-1, *shape)
    np.testing.assert_allclose(out[:, :n_landmarks], (cosines * posterior).sum(axis=2),
                               atol=TOLERANCE[rows.dtype.type])
    assert (out[:, n_landmarks:] == -7).all()


@given(problems(n_samples=4500, n_components=st.just(10)))
def test_bits_do_not_depend_on_threads(problem):
    found = [agreements(problem, np.array([0, 1]), 5, n).tobytes() for n in (1, 2, 3)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("temperature", [0.0, 1.0, 1e6, 1e300])
def test_pseudo_posterior(rng, temperature):
    losses = rng.standard_normal((3, 7))
    found = pseudo_posterior(-temperature * losses)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for k in range(3):
        np.testing.assert_allclose(found[k], reference.pseudo_posterior(losses[k], temperature))
    if temperature == 0:
        np.testing.assert_array_equal(found, 1 / 7)


def test_rows_are_drawn_as_often_as_they_weigh():
    weight = np.array([0.0, 1.0, 3.0, 0.0])
    drawn = np.bincount(draw_rows(np.random.default_rng(0), 40_000, 4, weight), minlength=4)
    assert drawn[[0, 3]].tolist() == [0, 0]
    assert drawn[2] / drawn[1] == pytest.approx(3, rel=0.05)
    alike = draw_rows(np.random.default_rng(0), 1000, 4, None)
    np.testing.assert_array_equal(alike, draw_rows(np.random.default_rng(0), 1000, 4, np.ones(4)))


def test_kmeans_finds_clusters(rng):
    centers = np.array([[0.0, 0], [10, 0], [0, 10], [10, 10]])
    X = np.repeat(centers, 50, axis=0) + 0.1 * rng.standard_normal((200, 2))
    found = kmeans(X, np.ones(200), 4, rng)
    distances = np.linalg.norm(found[:, None] - centers, axis=2)
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2, 3]
    assert distances.min(axis=1).max() < 0.1
    np.testing.assert_allclose(found[distances[:, 0].argmin()], X[:50].mean(axis=0))


def test_kmeans_weighs_rows_and_survives_few(rng):
    found = kmeans(np.array([[0.0], [1.0]]), np.array([1.0, 3.0]), 1, rng)
    assert found.tolist() == [[0.75]]
    assert sorted(set(np.ravel(kmeans(np.array([[2.0], [2.0], [5.0]]), np.ones(3), 6, rng)))) == [2.0, 5.0]
