"""Growth of symmetric trees against its twin."""

import numpy as np
import pytest
from helpers.boost_trees import Problem, evaluate, grow, leaf_arguments, leaves_of, sums_of_leaves
from helpers.packing import SIZES
from hypothesis import given
from hypothesis import strategies as st

from rffkern._native import boosting

# Gains are compared in single precision.
RESOLUTION = 3e-6

problems = st.builds(Problem, seed=st.integers(0, 2**32 - 1), n=st.sampled_from(SIZES), n_columns=st.integers(1, 19),
                     n_outputs=st.integers(1, 3), most_bins=st.sampled_from([2, 3, 16, 17, 33, 255, 256]),
                     reg=st.sampled_from([1e-3, 1.0, 10.0]), weighted=st.booleans(), ordered=st.booleans())


def check_growth(problem, tree):
    """Every level has the split that `split_gains` and `best_splits` lead to, and leaves have their values."""
    for level in range(tree.depth):
        gains, score = problem.gains(tree.columns[:level], tree.threshold_bins[:level])
        tolerance = RESOLUTION * (score + max(found.max() for found in gains if len(found)))
        assert (tree.columns[level], tree.threshold_bins[level]) in problem.best_splits(gains, tolerance)
        column = list(problem.candidates).index(tree.columns[level])
        gains, _ = problem.gains(tree.columns[:level], tree.threshold_bins[:level], np.zeros_like(problem.signs))
        np.testing.assert_allclose(tree.gains[level], gains[column][tree.threshold_bins[level]], rtol=0,
                                   atol=1e-6 * tolerance)
    values = problem.values(tree.columns[: tree.depth], tree.threshold_bins[: tree.depth])
    np.testing.assert_allclose(tree.values[: 2**tree.depth], values, rtol=1e-9, atol=1e-12)
    assert (tree.values[2**tree.depth :] == 0).all()
    assert (tree.threshold_bins[tree.depth :] == boosting.ALWAYS_LEFT).all()
    assert (tree.gains[tree.depth :] == 0).all()


@given(problems, st.integers(0, 7))
def test_growth(problem, depth):
    tree = problem.grow(depth)
    check_growth(problem, tree)
    if tree.depth < depth:
        gains, score = problem.gains(tree.columns[: tree.depth], tree.threshold_bins[: tree.depth])
        steps = problem.steps()
        assert max((found[step - 1 :: step].max() for found, step in zip(gains, steps, strict=True)
                    if len(found) >= step), default=0.0) <= 2 * RESOLUTION * score


@pytest.mark.parametrize(("n_rows", "depth", "shape"), [(5000, 8, {"n_columns": 11, "n_outputs": 2}),
                                                        (60_000, 10, {"n_columns": 4})])
def test_growth_at_every_level(level, n_rows, depth, shape):
    problem = Problem(depth, n_rows, most_bins=255, **shape)
    tree = problem.grow(depth)
    assert tree.depth == depth
    check_growth(problem, tree)


# Rows of 2 to 32 strips; one large leaf after a split of few rows, and columns of few and of many bins.
@pytest.mark.parametrize(("n", "n_columns", "most_bins", "n_outputs", "share"), [
    (2 * 16384, 7, 255, 2, 0.5), (100_000, 9, 200, 1, 0.99), (100_000, 3, 255, 1, 0.01), (600_000, 6, 40, 1, 0.7),
])
def test_growth_in_strips(level, n, n_columns, most_bins, n_outputs, share):
    problem = Problem(5, n, n_columns, n_outputs, most_bins)
    problem.binned[0] = np.where(np.random.default_rng(6).random(n) < share, 1, problem.binned[0])
    tree = problem.grow(7)
    assert tree.depth == 7
    check_growth(problem, tree)
    for n_threads in (2, 3):
        for a, b in zip(problem.grow(7, n_threads=n_threads), tree, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("n", "n_outputs", "depth"), [(300, 1, 4), (5000, 3, 6), (100_000, 1, 6)])
def test_bundles_are_split_as_their_indicators(level, n, n_outputs, depth):
    rng, sizes = np.random.default_rng(8), (boosting.MOST_LEVELS, 2)
    places = np.stack([rng.integers(0, size + 1, n, dtype=np.uint8) for size in sizes])
    indicators = [places[k] == np.arange(size)[:, None] for k, size in enumerate(sizes)]
    binned = np.concatenate([rng.integers(0, 40, (1, n), dtype=np.uint8), *indicators, places]).astype(np.uint8)
    n_bins = np.array([40, *[2] * sum(sizes), *[size + 1 for size in sizes]])
    target = np.sin(np.arange(sizes[0] + 1))[places[0]] + (binned[0] > 20) * (places[1] == 1)
    gradient = (target * rng.uniform(0.5, 1, (n_outputs, 1)) + 0.3 * rng.standard_normal((n_outputs, n))).astype(
        np.float32)
    hessian, of_bundles = rng.uniform(0.1, 1, (n_outputs, n)).astype(np.float32), [-1] * (sum(sizes) + 1)
    fixed = [binned, n_bins, gradient, hessian]
    with_bundles = [0, len(binned) - 2, len(binned) - 1]
    alone, *bundled = (
        grow(*fixed, candidates, depth, 1.0, n, n_threads, None, np.array([*of_bundles, 1, 1 + sizes[0]]))
        for candidates, n_threads in ((np.arange(sum(sizes) + 1), 1), (with_bundles, 1), (with_bundles, 3)))
    assert alone.depth == depth
    for a, b in zip(*bundled, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(bundled[0].columns, alone.columns)
    np.testing.assert_array_equal(bundled[0].threshold_bins, alone.threshold_bins)
    np.testing.assert_allclose(bundled[0].gains, alone.gains, rtol=1e-6)
    np.testing.assert_allclose(bundled[0].values, alone.values, rtol=1e-6, atol=1e-9)
    assert len({*alone.columns} - {0}) > 1  # of which there are splits


def test_leaves_on_threads():
    problem = Problem(7, 150_000, n_outputs=3)
    tree = problem.grow(5)
    arguments = [problem.binned, tree.columns, tree.threshold_bins, problem.gradient, problem.hessian, 140_001]
    one, three = leaf_arguments(*arguments), leaf_arguments(*arguments, 3)
    boosting.leaf_sums(**one)
    boosting.leaf_sums(**three)
    for name in ("leaves", "sums"):
        np.testing.assert_array_equal(one[name], three[name])
    np.testing.assert_array_equal(evaluate(problem.binned, tree, 3), evaluate(problem.binned, tree))


@given(problems, st.integers(0, 7))
def test_evaluation(problem, depth):
    tree = problem.grow(depth)
    leaves = leaves_of(problem.binned, tree.columns, tree.threshold_bins)
    np.testing.assert_array_equal(evaluate(problem.binned, tree), tree.values.T.astype(np.float32)[:, leaves])


@pytest.mark.parametrize("depth", [0, 1, 8, 9, boosting.MAX_DEPTH])
def test_evaluation_at_every_level(level, rng, depth):
    binned = rng.integers(0, 256, (5, 1000), dtype=np.uint8)
    columns, threshold_bins = rng.integers(0, 5, depth), rng.integers(0, 256, depth)
    values, out = rng.standard_normal((2**depth, 2)), np.empty((2, 1000), np.float32)
    boosting.evaluate_tree(binned, columns, threshold_bins, values, out, 1)
    np.testing.assert_array_equal(out, values.T.astype(np.float32)[:, leaves_of(binned, columns, threshold_bins)])


def check_leaf_sums(binned, columns, threshold_bins, gradient, hessian, n_train):
    """The leaf of each training row, and sums to the last bit: rows are added one after the other."""
    found = leaf_arguments(binned, columns, threshold_bins, gradient, hessian, n_train)
    boosting.leaf_sums(**found)
    leaves, n_leaves = leaves_of(binned, columns, threshold_bins)[:n_train], 2 ** len(columns)
    np.testing.assert_array_equal(found["leaves"], leaves)
    for place, rows in enumerate((gradient, hessian)):
        np.testing.assert_array_equal(found["sums"][..., place], sums_of_leaves(leaves, n_leaves, rows[:, :n_train]))


@given(problems, st.integers(0, 7), st.data())
def test_leaf_sums(problem, depth, data):
    tree, n_train = problem.grow(depth), data.draw(st.integers(1, problem.n_train))
    check_leaf_sums(problem.binned, tree.columns, tree.threshold_bins, problem.gradient, problem.hessian, n_train)


@pytest.mark.parametrize("depth", [0, 8, 9, boosting.MAX_DEPTH])
def test_leaf_sums_at_every_level(level, rng, depth):
    binned, rows = rng.integers(0, 256, (5, 1000), dtype=np.uint8), rng.standard_normal((2, 3, 1000)).astype(np.float32)
    check_leaf_sums(binned, rng.integers(0, 5, depth), rng.integers(0, 256, depth), *rows, 1000)


@given(st.integers(1, 40), st.sampled_from(SIZES))
def test_evaluation_of_many_outputs(n_outputs, n):
    rng = np.random.default_rng(n_outputs)
    binned, columns, bins = rng.integers(0, 256, (3, n), dtype=np.uint8), rng.integers(0, 3, 4), rng.integers(0, 256, 4)
    values, out = rng.standard_normal((16, n_outputs)), np.empty((n_outputs, n), np.float32)
    boosting.evaluate_tree(binned, columns, bins, values, out, 1)
    np.testing.assert_array_equal(out, values.T.astype(np.float32)[:, leaves_of(binned, columns, bins)])


def test_rows_beyond_the_training_rows_have_no_influence():
    problem = Problem(3, 700, n_train=512, n_outputs=2)
    tree = problem.grow(4)
    problem.gradient[:, 512:], problem.hessian[:, 512:] = 1e6, np.nan
    problem.binned[:, 512:] = 0
    for a, b in zip(tree, problem.grow(4), strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_without_weight_have_no_influence():
    problem, longer = Problem(4, 600, n_train=600), Problem(4, 600)
    longer.binned = np.hstack([problem.binned, np.zeros((5, 168), np.uint8)])
    longer.gradient, longer.hessian = (np.hstack([rows, np.zeros((1, 168), np.float32)])
                                       for rows in (problem.gradient, problem.hessian))
    longer.n_train = 768
    expected, found = problem.grow(4), longer.grow(4)
    np.testing.assert_array_equal(found.columns, expected.columns)
    np.testing.assert_array_equal(found.threshold_bins, expected.threshold_bins)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)


def test_a_repeated_row_is_a_weight():
    problem = Problem(5, 900, weighted=True)
    times = problem.weight.astype(int)
    repeated = Problem(5, 900)
    with np.errstate(invalid="ignore"):
        repeated.gradient, repeated.hessian = (np.repeat(np.where(times > 0, rows / problem.weight, 0), times, axis=1)
                                               .astype(np.float32) for rows in (problem.gradient, problem.hessian))
    repeated.binned, repeated.n_train = np.repeat(problem.binned, times, axis=1), times.sum()
    expected, found = problem.grow(4), repeated.grow(4)
    np.testing.assert_array_equal(found.columns, expected.columns)
    np.testing.assert_array_equal(found.threshold_bins, expected.threshold_bins)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-5, atol=1e-7)


def test_of_equal_splits_the_first_wins():
    """Columns that are copies of others, and bins that no row has: a threshold before them is as good as one after."""
    problem = Problem(6, 500, n_columns=2, most_bins=200)
    binned = problem.binned[0] // 20 * 20
    copies = np.stack([binned, binned, binned])
    for candidates in ([0, 1, 2], [2, 0, 1]):
        tree = grow(copies, np.full(3, 200), problem.gradient, problem.hessian, candidates, 1, 1.0, 500)
        assert tree.columns[0] == candidates[0]
        assert tree.threshold_bins[0] % 20 == 0


def test_a_tree_by_hand():
    binned = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.uint8)
    gradient, hessian = np.array([[1, 2, 4, 9]], np.float32), np.ones((1, 4), np.float32)
    tree = grow(binned, np.array([2, 2]), gradient, hessian, [1, 0], 3, 0.25, 4)
    assert tree.depth == 2
    np.testing.assert_array_equal(tree.columns, [0, 1, 0])
    np.testing.assert_array_equal(tree.threshold_bins, [0, 0, boosting.ALWAYS_LEFT])
    np.testing.assert_allclose(tree.values[:, 0], [0.8, 3.2, 1.6, 7.2, 0, 0, 0, 0], rtol=1e-15)
    np.testing.assert_allclose(tree.gains, [178 / 2.25 - 256 / 4.25, 102 / 1.25 - 178 / 2.25, 0], rtol=1e-12)


def test_nothing_to_gain():
    binned, ones = np.zeros((2, 300), np.uint8), np.ones((1, 300), np.float32)
    binned[1] = np.arange(300) % 7
    for gradient, expected in ((np.zeros_like(ones), 0.0), (ones, 300 / 301)):
        tree = grow(binned, np.array([1, 7]), gradient, ones, [0, 1], 3, 1.0, 300)
        assert tree.depth == 0
        np.testing.assert_array_equal(tree.columns, 0)
        np.testing.assert_allclose(tree.values[0], expected)
        np.testing.assert_array_equal(evaluate(binned, tree), np.float32(expected))


def test_sums_of_many_rows_keep_their_digits():
    """A single-precision sum of a million equal numbers is off by a thousandth."""
    n = 1_200_000
    binned, hessian = np.zeros((1, n), np.uint8), np.full((1, n), 0.1, np.float32)
    binned[0, ::3] = 1
    gradient = np.where(binned > 0, 0.1, -0.1).astype(np.float32)
    tree = grow(binned, np.array([2]), gradient, hessian, [0], 1, 1.0, n)
    share = float(np.float32(0.1)) * n * np.array([2 / 3, 1 / 3])
    np.testing.assert_allclose(tree.values[:, 0], np.array([-1, 1]) * share / (share + 1), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e18])
def test_weights_of_any_scale(scale):
    """Sums are neither squared nor multiplied before they are divided."""
    problem = Problem(7, 2000, n_columns=4, most_bins=100)
    expected = problem.grow(4)
    problem.gradient, problem.hessian, problem.reg = problem.gradient * np.float32(scale), problem.hessian * np.float32(
        scale), scale
    found = problem.grow(4)
    np.testing.assert_array_equal(found.columns, expected.columns)
    np.testing.assert_array_equal(found.threshold_bins, expected.threshold_bins)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-5)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3, 64, 65, 255]), st.sampled_from([1, 15, 16, 17, 8192, 8193]))
def test_bins(seed, most_bins, n):
    rng = np.random.default_rng(seed)
    columns, binned = rng.integers(-40, 40, (4, n)).astype(np.float32), np.array([2, 0, 3])
    n_bins = rng.integers(1, most_bins + 1, 3)
    edges, bins = np.full((3, 255), np.nan, np.float32), np.empty((3, n), np.uint8)
    for row, size in zip(edges, n_bins, strict=True):
        row[: size - 1] = np.sort(rng.integers(-40, 40, size - 1))
    boosting.find_bins(columns, binned, n_bins, edges, bins, 2)
    for j, row, size, found in zip(binned, edges, n_bins, bins, strict=True):
        np.testing.assert_array_equal(found, np.searchsorted(row[: size - 1], columns[j], side="left"))
