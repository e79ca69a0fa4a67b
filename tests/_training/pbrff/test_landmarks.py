"""Landmarks: rows and their own weights; k-means of known clusters, with weights and of few distinct rows."""

import numpy as np
import pytest

from rffkern import InvalidInputError
from rffkern._rows.scaling import measure_scaling
from rffkern._rows.training_rows import check_labelled
from rffkern._training.pbrff import landmarks as _landmarks
from rffkern._training.pbrff.landmarks import _seed_centers, kmeans, kmeans_landmarks, random_landmarks


def labelled(n_samples=300, weight=None):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_samples, 4)) * [1, 3, 5, 0.1] + 2
    y = np.digitize(X[:, 0], [1.5, 2.5])
    rows = check_labelled(X, y, weight).rows
    return rows, measure_scaling(rows.X, rows.weights), X


def test_random_landmarks_are_rows_with_their_labels():
    rows, scaling, X = labelled()
    points, codes, own_weight = random_landmarks(rows, scaling, 20, np.random.default_rng(3))
    indices = (np.random.default_rng(3).random(20) * 300).astype(int)
    np.testing.assert_array_equal(points, (X[indices] - scaling.center) * scaling.inverse_scale)
    np.testing.assert_array_equal(codes, rows.codes[indices])
    np.testing.assert_array_equal(own_weight, 1)


def test_own_weight_is_that_of_one_copy_at_most():
    """A row of weight 3 equals three copies, two of which are other rows; one of weight 1/2 is all of itself."""
    weight = np.where(np.arange(300) % 2, 3.0, 0.5)
    rows, scaling, X = labelled(weight=weight)
    points, _, own_weight = random_landmarks(rows, scaling, 50, np.random.default_rng(3))
    standardised = (X - scaling.center) * scaling.inverse_scale
    drawn = np.array([np.abs(standardised - point).max(axis=1).argmin() for point in points])
    np.testing.assert_allclose(own_weight * rows.weights.unit, np.minimum(weight[drawn], 1))


def test_kmeans_landmarks_are_divided_among_the_classes():
    rows, scaling, _ = labelled()
    points, codes, own_weight = kmeans_landmarks(rows, scaling, 8, np.random.default_rng(3))
    assert codes.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert codes.dtype == np.intp
    assert not own_weight.any()
    low, high = points[codes == 0, 0], points[codes == 2, 0]
    assert low.max() < high.min()
    with pytest.raises(InvalidInputError, match="n_landmarks must be at least the number of classes, 3"):
        kmeans_landmarks(rows, scaling, 2, np.random.default_rng(3))


def test_kmeans_draws_rows_of_large_classes():
    X = np.random.default_rng(1).standard_normal((20_002, 2))
    rows = check_labelled(X, np.arange(20_002) < 2, None).rows
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    kmeans_landmarks(rows, measure_scaling(rows.X, rows.weights), 4, rng)
    other.random(16384 + 2 + 2)
    assert rng.random() == other.random()


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

    monkeypatch.setattr(_landmarks, "_nearest", nearest)
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
