"""Sums of cosines, trees and a linear function: scores against their definition, and what is refused."""

import pickle

import numpy as np
import pytest
from helpers.expansions import boosted_expansion, fourier_expansion
from reference import leaves_of, n_leaves

from rffkern import InvalidInputError, load, save
from rffkern._native import scoring
from rffkern._rows import threads


def arrays(n_features=4, n_outputs=1, n_cosines=5, n_trees=6, depth=3, seed=0):
    rng = np.random.default_rng(seed)
    columns, thresholds = rng.integers(0, n_features, (n_trees, depth)), rng.standard_normal((n_trees, depth))
    values = rng.standard_normal((sum(n_leaves(columns, thresholds)), n_outputs)).astype(np.float32).astype(float)
    return {"omegas": rng.standard_normal((n_cosines, n_features)), "phases": rng.uniform(-3, 3, n_cosines),
            "amplitudes": rng.standard_normal((n_cosines, n_outputs)), "intercept": rng.standard_normal(n_outputs),
            "center": rng.standard_normal(n_features), "coefficients": rng.standard_normal((n_features, n_outputs)),
            "tree_columns": columns, "tree_thresholds": thresholds, "tree_values": values}


def defined(parts, X):
    """The scores by the definition, row by row."""
    scores = []
    columns, thresholds = parts["tree_columns"], parts["tree_thresholds"]
    ends = np.cumsum(n_leaves(columns, thresholds))
    for x in X.astype(float):
        far = x - parts["center"]
        score = parts["intercept"] + far @ parts["coefficients"]
        score = score + np.cos(parts["omegas"] @ far - parts["phases"]) @ parts["amplitudes"]
        for t in range(len(columns)):
            values = parts["tree_values"][: ends[t]][ends[t - 1] if t else 0 :]
            score = score + values[leaves_of(columns[t], thresholds[t], x[None])[0]]
        scores.append(score)
    return np.array(scores)


def rows(n, n_features=4, dtype=np.float64):
    return np.random.default_rng(1).standard_normal((n, n_features)).astype(dtype)


def tiles_of(X):
    width = scoring.tile_width(X.shape[1], X.itemsize)
    padded = np.zeros((-(-len(X) // width) * width, X.shape[1]), X.dtype)
    padded[: len(X)] = X
    return np.ascontiguousarray(padded.reshape(-1, width, X.shape[1]).transpose(0, 2, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_outputs", "depth"), [(1, 1), (1, 8), (3, 4), (1, 12)])
@pytest.mark.parametrize("n", [1, 7, 130])
def test_scores_are_those_of_the_definition(dtype, n_outputs, depth, n):
    parts = arrays(n_outputs=n_outputs, depth=depth)
    X = rows(n, dtype=dtype)
    np.testing.assert_allclose(boosted_expansion(**parts).score(X), defined(parts, X),
                               atol=1e-12 if dtype == np.float64 else 2e-5)


@pytest.mark.parametrize("dropped", ["cosines", "trees", "both"])
def test_kinds_of_terms_that_are_not_there(dropped, tmp_path):
    """Nor do they keep a file from being written and read."""
    parts = arrays(n_cosines=5 if dropped == "trees" else 0, n_trees=6 if dropped == "cosines" else 0)
    expansion, X = boosted_expansion(**parts), rows(20)
    np.testing.assert_allclose(expansion.score(X), defined(parts, X), atol=1e-12)
    assert np.isfinite(expansion._bound()).all()
    save(expansion, tmp_path / "e")
    np.testing.assert_array_equal(load(tmp_path / "e").score(X), expansion.score(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_alone_is_scored_as_among_others(dtype):
    expansion, X = boosted_expansion(**arrays(n_outputs=2)), rows(300, dtype=dtype)
    trees = boosted_expansion(**arrays(n_cosines=0))
    together = trees.score(X)
    for n in (1, 3, 9):
        np.testing.assert_array_equal(trees.score(X[:n]), together[:n])
        np.testing.assert_allclose(expansion.score(X[:n]), expansion.score(X)[:n], atol=1e-6)


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(threads, "machine_cpus", lambda: 4)
    expansion, X = boosted_expansion(**arrays(n_trees=60)), rows(70_000)
    np.testing.assert_array_equal(expansion.score(X, n_jobs=3), expansion.score(X, n_jobs=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_value_at_a_threshold_is_not_above_it(dtype):
    """Also where the threshold lies between two numbers of single precision."""
    for threshold in (0.5, 0.1, -0.1, 1e30, 1 + 1e-12):
        parts = arrays(1, n_cosines=0, n_trees=1, depth=1) | {"coefficients": [[0.0]], "intercept": [0.0]}
        step = boosted_expansion(**parts | {"tree_columns": [[0]], "tree_thresholds": [[threshold]],
                                        "tree_values": [[0.0], [1.0]]})
        near = dtype(threshold)
        X = np.array([np.nextafter(near, dtype(-np.inf)), near, np.nextafter(near, dtype(np.inf))], dtype)[:, None]
        for some in (X, np.repeat(X, 100, axis=0)[::100], np.repeat(X, 100, axis=0)):
            found = step.score(some)[:, 0]
            np.testing.assert_array_equal(found, some[:, 0].astype(np.float64) > threshold)


def test_tiles_are_scored_as_rows():
    expansion, X = boosted_expansion(**arrays()), rows(200)
    found = expansion._scorer.score_tiles(tiles_of(X), 200, None)
    np.testing.assert_array_equal(found, expansion._scorer.score(X, None))


def test_the_bound_holds():
    parts = arrays(n_outputs=2) | {"coefficients": np.zeros((4, 2))}
    expansion = boosted_expansion(**parts)
    assert (np.abs(expansion.score(10 * rows(5000))) <= expansion._bound()).all()
    assert (expansion._bound() < 30).all()


def test_rows_far_out_have_finite_scores():
    expansion = boosted_expansion(**arrays())
    X = np.random.default_rng(0).choice([-4e307, 4e307], (50, 4))
    assert np.isfinite(expansion.score(X)).all()
    assert np.isfinite(expansion.score(np.clip(X, -3e38, 3e38).astype(np.float32))).all()
    assert np.isfinite(expansion._bound()).all()


@pytest.mark.parametrize(("name", "change"), [
    ("tree_columns", lambda a: a + 4), ("tree_columns", lambda a: a - 4), ("tree_columns", lambda a: a + 0.5),
    ("tree_columns", lambda a: a[:-1]), ("tree_thresholds", lambda a: a[:, :-1]), ("tree_values", lambda a: a[:, :-1]),
    ("tree_thresholds", lambda a: np.where(a > 1, np.nan, a)), ("tree_values", lambda a: a * np.inf),
    ("coefficients", lambda a: a[:-1]), ("omegas", lambda a: a[0]), ("phases", lambda a: a[:-1]),
])
def test_arrays_that_do_not_agree_are_refused(name, change):
    parts = arrays(seed=3)
    with pytest.raises(InvalidInputError):
        boosted_expansion(**parts | {name: change(parts[name])})


@pytest.mark.parametrize("depth", [0, 13, 80])
def test_tables_have_a_depth_from_1_to_12(depth):
    parts = arrays(depth=1) | {"tree_columns": np.zeros((6, depth)), "tree_thresholds": np.zeros((6, depth)),
                               "tree_values": np.ones((12, 1))}
    with pytest.raises(InvalidInputError, match="tree_columns must have 1 to 12 columns"):
        boosted_expansion(**parts)


def test_it_is_immutable_and_copied():
    parts = arrays()
    expansion = boosted_expansion(**parts)
    before = expansion.score(rows(5))
    parts["tree_values"][:] = 0
    np.testing.assert_array_equal(expansion.score(rows(5)), before)
    with pytest.raises(AttributeError, match="immutable"):
        expansion.trees.tree_thresholds = np.zeros((6, 3))
    with pytest.raises(ValueError, match="read-only"):
        expansion.trees.tree_values[0, 0] = 1
    copied = pickle.loads(pickle.dumps(expansion))
    np.testing.assert_array_equal(copied.score(rows(5)), before)
    assert repr(copied) == "Expansion(fourier=5, linear, trees=6, n_features=4, n_outputs=1)"


@pytest.mark.parametrize("factor", [2.0**600, 2.0**-600, 2.0**-90])
def test_values_beyond_single_precision_keep_their_digits(factor, tmp_path):
    parts = arrays(n_cosines=0) | {"coefficients": np.zeros((4, 1))}
    X = rows(50, dtype=np.float32)
    parts["tree_values"] = parts["tree_values"] * factor
    expansion = boosted_expansion(**parts)
    np.testing.assert_allclose(expansion.score(X) - parts["intercept"], defined(parts, X) - parts["intercept"],
                               rtol=1e-12, atol=1e-15)
    zero = boosted_expansion(**parts | {"intercept": [0.0]})
    np.testing.assert_allclose(zero.score(X), defined(parts | {"intercept": [0.0]}, X), rtol=1e-12)
    save(zero, tmp_path / "e")
    np.testing.assert_array_equal(load(tmp_path / "e").score(X), zero.score(X))


def test_values_of_trees_are_rounded_to_single_precision_once(tmp_path):
    parts = arrays()
    parts["tree_values"] = np.random.default_rng(2).standard_normal(parts["tree_values"].shape)
    expansion = boosted_expansion(**parts)
    assert expansion.trees.tree_values.dtype == np.float32
    rounded = parts | {"tree_values": parts["tree_values"].astype(np.float32).astype(float)}
    np.testing.assert_allclose(expansion.score(rows(9)), defined(rounded, rows(9)), atol=1e-12)
    save(expansion, tmp_path / "e")
    assert load(tmp_path / "e").trees.tree_values.tobytes() == expansion.trees.tree_values.tobytes()
    stored = np.load(tmp_path / "e", allow_pickle=False)
    assert stored["tree_values"].dtype == np.float32


def test_cells_of_columns_that_are_asked_twice():
    """0.5 and 2 on one column make three leaves, and a depth that splits nothing none."""
    parts = arrays(2, n_cosines=0, n_trees=1) | {"coefficients": np.zeros((2, 1)), "intercept": [0.0]}
    tree = boosted_expansion(**parts | {
        "tree_columns": [[1, 0, 0, 1]], "tree_thresholds": [[0.0, 2.0, 0.5, np.finfo(float).max]],
        "tree_values": np.arange(6.0)[:, None]})
    X = np.array([[0, -1], [0, 1], [1, -1], [1, 1], [3, -1], [3, 1]], float)
    np.testing.assert_array_equal(tree.score(X)[:, 0], range(6))
    assert tree.trees.starts.tolist() == [0, 6]


@pytest.mark.parametrize("n", [3, 200])
def test_tiles_of_numbers_beyond_single_precision(n):
    """One tile, or several, of float32 rows, whose cosines and trees need double precision."""
    parts = arrays()
    parts["amplitudes"], parts["tree_values"] = 1e200 * parts["amplitudes"], 2.0**600 * parts["tree_values"]
    X = rows(n, dtype=np.float32)
    found = boosted_expansion(**parts)._scorer.score_tiles(tiles_of(X), n, None)
    np.testing.assert_allclose(found, defined(parts, X), rtol=1e-9)


def test_cosines_are_those_of_a_fourier_expansion():
    parts = arrays(n_trees=0) | {"coefficients": np.zeros((4, 1))}
    cosines = fourier_expansion(*(parts[name] for name in ("omegas", "phases", "amplitudes", "intercept", "center")))
    np.testing.assert_array_equal(boosted_expansion(**parts).score(rows(40)), cosines.score(rows(40)))


def test_values_that_are_rounded_up_to_the_least_that_single_precision_keeps():
    """Before, they are kept in double precision, after it in single."""
    parts = arrays(1, n_cosines=0, n_trees=1) | {"coefficients": np.zeros((1, 1)), "intercept": [0.0]}
    least = 2.0**-61
    tree = boosted_expansion(**parts | {"tree_columns": [[0]], "tree_thresholds": [[0.5]],
                                     "tree_values": [[least * (1 - 2.0**-30)], [least / 2]]})
    assert tree.score([[0.0], [1.0]])[:, 0].tolist() == [least, least / 2]
