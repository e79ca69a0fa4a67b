"""K-means: clusters that are known, weights, few distinct rows."""

import numpy as np

from rffkern._training.pbrff import kmeans as _kmeans
from rffkern._training.pbrff.kmeans import _seed_centers, kmeans


def test_kmeans_finds_clusters(rng):
    centers = np.array([[0.0, 0], [10, 0], [0, 10], [10, 10]])
    X = np.repeat(centers, 50, axis=0) + 0.1 * rng.standard_normal((200, 2))
    found = kmeans(X, np.ones(200), 4, rng)
    distances = np.linalg.norm(found[:, None] - centers, axis=2)
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2, 3]
    assert distances.min(axis=1).max() < 0.1
    np.testing.assert_allclose(found[distances[:, 0].argmin()], X[:50].mean(axis=0))


def test_kmeans_ends_where_rows_go_on_changing_clusters(rng, monkeypatch):
    """As rounding may have it for ever."""
    calls = []

    def nearest(X, centers):
        calls.append(len(centers))
        return np.full(len(X), len(calls) % len(centers)), np.ones(len(X))

    monkeypatch.setattr(_kmeans, "_nearest", nearest)
    found = kmeans(rng.standard_normal((20, 2)), np.ones(20), 3, rng)
    assert calls == 3 * [1] + 100 * [3]  # seeds, then iterations
    assert np.isfinite(found).all()


def test_kmeans_weighs_rows_and_survives_few(rng):
    found = kmeans(np.array([[0.0], [1.0]]), np.array([1.0, 3.0]), 1, rng)
    assert found.tolist() == [[0.75]]
    assert sorted(set(np.ravel(kmeans(np.array([[2.0], [2.0], [5.0]]), np.ones(3), 6, rng)))) == [2.0, 5.0]


def test_no_row_is_nearer_to_another_center_than_to_its_own(rng):
    """At the end of Lloyd's iterations every center is the weighted mean of the rows nearest to it."""
    X, weight = rng.standard_normal((1500, 3)), rng.uniform(0.5, 2, 1500)
    centers = kmeans(X, weight, 7, rng)
    nearest = np.linalg.norm(X[:, None] - centers, axis=2).argmin(axis=1)
    for k in range(7):
        np.testing.assert_allclose(centers[k], np.average(X[nearest == k], axis=0, weights=weight[nearest == k]))


def test_seeds_use_one_uniform_number_for_each_center():
    rng, other = np.random.default_rng(5), np.random.default_rng(5)
    kmeans(np.random.default_rng(1).standard_normal((50, 2)), np.ones(50), 4, rng)
    other.random(4)
    assert rng.random() == other.random()


def test_seeds_are_drawn_by_weight():
    """With a weight of nearly everything, a row is the first seed; the second is drawn by weight times distance."""
    X, weight = np.array([[0.0], [1.0], [-1.0], [2.0]]), np.array([1e6, 300.0, 100.0, 100.0])
    seeds = np.array([_seed_centers(X, weight, 2, np.random.default_rng(seed)).ravel() for seed in range(400)])
    assert (seeds[:, 0] == 0).mean() > 0.99
    second = seeds[seeds[:, 0] == 0, 1]
    shares = [(second == x).mean() for x in (1.0, -1.0, 2.0)]
    np.testing.assert_allclose(shares, [3 / 8, 1 / 8, 4 / 8], atol=0.1)  # four standard deviations


def test_seeds_where_every_row_is_a_center_already_are_drawn_by_weight():
    X, weight = np.zeros((3, 1)), np.array([1.0, 1.0, 1.0])
    assert _seed_centers(X, weight, 5, np.random.default_rng(0)).tolist() == [[0.0]] * 5
