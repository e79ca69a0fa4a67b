"""Landmarks, their kernels and their features, apart from the estimators."""

import numpy as np
import pytest
import reference

from rffkern import InvalidInputError, RowBlocks
from rffkern._estimator.monitor import listening
from rffkern._native import scoring
from rffkern._rows.scaling import measure_scaling
from rffkern._rows.tiles import tile_rows
from rffkern._rows.training_rows import check_labelled
from rffkern._training.pbrff import landmark_features
from rffkern._training.pbrff.landmark_features import (
    KernelSettings,
    LandmarkKernels,
    _class_centers,
    _half_turns,
    _kmeans_landmarks,
    _mean_cosines,
    _random_landmarks,
    learn_representation,
    machine_features,
)


def labelled(n_samples=300, weight=None, streamed=False):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_samples, 4)) * [1, 3, 5, 0.1] + 2
    y = np.digitize(X[:, 0], [1.5, 2.5])
    rows = check_labelled(RowBlocks([X[:100], X[100:]]) if streamed else X, y, weight).rows
    return rows, measure_scaling(rows.X, rows.weights), X


def settings(**changed):
    return KernelSettings(6, 5, 0.3, 2.0, "random", "double", 1)._replace(**changed)


def test_random_landmarks_are_rows_with_their_labels():
    rows, scaling, X = labelled()
    found = _random_landmarks(rows, scaling, 20, np.random.default_rng(3))
    indices = (np.random.default_rng(3).random(20) * 300).astype(int)
    np.testing.assert_array_equal(found.points, (X[indices] - scaling.center) * scaling.inverse_scale)
    np.testing.assert_array_equal(found.codes, rows.codes[indices])
    np.testing.assert_array_equal(found.own_weight, 1)


def test_own_weight_is_that_of_one_copy_at_most():
    """A row of weight 3 equals three copies, two of which are other rows; one of weight 1/2 is all of itself."""
    weight = np.where(np.arange(300) % 2, 3.0, 0.5)
    rows, scaling, X = labelled(weight=weight)
    found = _random_landmarks(rows, scaling, 50, np.random.default_rng(3))
    standardised = (X - scaling.center) * scaling.inverse_scale
    drawn = np.array([np.abs(standardised - point).max(axis=1).argmin() for point in found.points])
    np.testing.assert_allclose(found.own_weight * rows.weights.unit, np.minimum(weight[drawn], 1))


def test_kmeans_landmarks_are_divided_among_the_classes():
    rows, scaling, _ = labelled()
    found = _kmeans_landmarks(rows, scaling, 8, np.random.default_rng(3))
    assert found.codes.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert found.codes.dtype == np.intp
    assert not found.own_weight.any()
    low, high = found.points[found.codes == 0, 0], found.points[found.codes == 2, 0]
    assert low.max() < high.min()
    with pytest.raises(InvalidInputError, match="n_landmarks must be at least the number of classes, 3"):
        _kmeans_landmarks(rows, scaling, 2, np.random.default_rng(3))


def test_kmeans_draws_rows_of_large_classes():
    rows, scaling, _ = labelled(20_000)
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    _class_centers(rows, scaling, np.arange(20_000), 2, rng)
    other.random(16384 + 2)
    assert rng.random() == other.random()


@pytest.mark.parametrize("n_terms", [1, 4, 6])
def test_half_turns_are_padded_beyond_the_last_landmark(n_terms):
    omegas, phases = np.random.default_rng(0).standard_normal((1, n_terms, 3)), np.full((1, n_terms), np.pi / 2)
    found, shifts = _half_turns(omegas, phases, np.dtype(np.float64))
    multiple = scoring.TERM_MULTIPLES[0]
    assert len(found) == len(shifts) >= n_terms + multiple
    assert len(found) % multiple == 0
    np.testing.assert_array_equal(found[:n_terms], omegas[0] / np.pi)
    assert shifts.tolist() == [0.5] * n_terms + [0.0] * (len(found) - n_terms)
    assert not found[n_terms:].any()


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_posterior_is_that_of_the_twin(streamed, weighted):
    given = np.random.default_rng(0).uniform(0.5, 2, 300) if weighted else None
    rows, scaling, X = labelled(weight=given, streamed=streamed)
    learned, _ = learn_representation(rows, scaling, settings(), np.random.default_rng(7))
    weight = np.ones(300) if given is None else given
    standardised = (X - scaling.center) * scaling.inverse_scale
    points = (learned.landmarks - scaling.center) * scaling.inverse_scale
    drawn = np.array([np.abs(standardised - point).max(axis=1).argmin() for point in points])
    losses = reference.pbrff_losses(standardised, rows.codes, weight, np.minimum(weight[drawn], 1), points,
                                    rows.codes[drawn], learned.kernels.omegas)
    expected = np.stack([reference.pseudo_posterior(loss, 2.0 * np.sqrt(weight.sum())) for loss in losses])
    np.testing.assert_allclose(learned.kernels.posterior, expected, atol=1e-9)


def test_mean_cosines_leave_out_one_copy_of_the_landmark():
    """Whose cosine is 1: without it, the mean over few rows would be closer to 1."""
    weight = np.random.default_rng(0).uniform(0.5, 2, 300)
    rows, scaling, X = labelled(weight=weight)
    found, omegas = _random_landmarks(rows, scaling, 6, np.random.default_rng(3)), np.ones((6, 5, 4))
    omegas *= np.linspace(0, 2, 5)[:, None]
    phases = np.einsum("lkd,ld->lk", omegas, found.points)
    tiles = tile_rows(rows.X, scaling, np.dtype(np.float64), n_threads=1, weights=rows.weights)[0]
    mean = _mean_cosines(tiles, rows, found, omegas, phases, 1)
    standardised = (X - scaling.center) * scaling.inverse_scale
    drawn = np.array([np.abs(standardised - point).max(axis=1).argmin() for point in found.points])
    losses = reference.pbrff_losses(standardised, rows.codes, weight, np.minimum(weight[drawn], 1), found.points,
                                    found.codes, omegas)
    np.testing.assert_allclose(mean, 1 - 2 * losses, atol=1e-12)


def test_a_representation_agrees_with_itself():
    """Kernels of standardised rows and terms of raw rows are the same functions."""
    rows, scaling, X = labelled()
    learned, tiles = learn_representation(rows, scaling, settings(), np.random.default_rng(7))
    features = machine_features(learned.kernels, tiles, 300, 1)
    angles = (X - scaling.center) @ learned.omegas.T - learned.phases
    expected = (np.cos(angles).reshape(300, 6, 5) * learned.kernels.posterior).sum(axis=2)
    np.testing.assert_allclose(features[:, :6], expected, atol=1e-9)
    assert features.shape == (300, scoring.LANE_COUNT)
    assert (features[:, 6] == 1).all()
    assert not features[:, 7:].any()


@pytest.mark.parametrize(("precision", "gamma", "dtype"), [
    ("single", 0.3, np.float32), ("single", 1e6, np.float64), ("double", 0.3, np.float64)])
def test_precision_of_the_packed_rows(precision, gamma, dtype):
    rows, scaling, _ = labelled()
    _, tiles = learn_representation(rows, scaling, settings(precision=precision, gamma=gamma), np.random.default_rng(7))
    assert tiles.dtype == dtype


def test_features_leave_further_columns_alone():
    rows, scaling, _ = labelled()
    learned, tiles = learn_representation(rows, scaling, settings(), np.random.default_rng(7))
    omegas, phases, posterior = learned.kernels
    two = LandmarkKernels(omegas[:2], phases[:2], posterior[:2]).features(tiles, (300, 2), 1)
    np.testing.assert_array_equal(two, learned.kernels.features(tiles, (300, 6), 1)[:, :2])


def test_long_work_tells_how_it_goes_on(monkeypatch):
    """In parts that change no bit."""
    rows, scaling, _ = labelled()
    settings = KernelSettings(7, 6, 0.3, 1.0, "random", "double", 1)

    def features():
        found, tiles = learn_representation(rows, scaling, settings, np.random.default_rng(0))
        return machine_features(found.kernels, tiles, 300, 1)

    told = []
    with listening(lambda *step: told.append(step)):
        whole = features()
        assert told == []
        monkeypatch.setattr(landmark_features, "_TOLD", 7 * 6 * 4)  # a tile of features, 2 landmarks of a posterior
        parts = features()
    assert np.array_equal(whole, parts)
    assert {work for work, _, _, _ in told} == {"posterior", "features"}
    for work in ("posterior", "features"):
        steps = [(done, total) for name, done, total, _ in told if name == work]
        assert steps == [(done, len(steps)) for done in range(1, len(steps) + 1)]
        assert len(steps) > 1
