"""Scores rise or fall with columns that have an order, exactly, and terms read columns of one set."""

import itertools
import json

import numpy as np
import pytest
from helpers.partitions import LocalPartitions, cut
from hypothesis import given, settings
from hypothesis import strategies as st

from rffkern import (
    ColumnMap,
    Expansion,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    FourierTerms,
    InvalidInputError,
    KernelTerms,
    LinearTerms,
    RowBlocks,
    TreeTerms,
    load,
    save,
)
from rffkern._native import boosting
from rffkern._training.fourier_boosting.constraints import (
    Constraints,
    check_constraints,
    isotonic,
    monotone_values,
)
from rffkern._training.fourier_boosting.distributed import fit_partitions
from rffkern._training.fourier_boosting.pairs import pair_gain
from rffkern._training.fourier_boosting.terms import TreeTerm

SMALL = {"n_estimators": 40, "n_bags": 2, "random_state": 0}


# --- leaves of a tree


def pool_adjacent_violators(values, weights):
    """Isotonic regression, by its usual method."""
    blocks = []
    for value, weight in zip(values, weights, strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, u, m), (b, v, n) = blocks[-2:]
            blocks[-2:] = [[(u * a + v * b) / (u + v), u + v, m + n]]
    return np.repeat([value for value, *_ in blocks], [n for *_, n in blocks])


numbers = st.floats(-10, 10)


@given(st.lists(st.tuples(numbers, st.floats(0.01, 100)), min_size=1, max_size=12))
def test_isotonic_regression(pairs):
    values, weights = np.array(pairs).T
    found = isotonic(values[:, None], weights[:, None])[:, 0]
    np.testing.assert_allclose(found, pool_adjacent_violators(values, weights), rtol=1e-9, atol=1e-9)
    assert (np.diff(found) >= 0).all()


def chains_of(tree, column):
    """Leaves that a row goes through while one column rises and the others stay, in all cases."""
    levels = [level for level in np.argsort(tree.threshold_bins, kind="stable")
              if tree.columns[level] == column and tree.threshold_bins[level] != boosting.ALWAYS_LEFT]
    mask = sum(1 << level for level in levels)
    return [[leaf, *(leaf | bits for bits in itertools.accumulate(1 << level for level in levels))]
            for leaf in range(len(tree.values)) if not leaf & mask]


@st.composite
def trees(draw):
    """A tree with several thresholds of a column, and weights of its leaves."""
    depth, seed = draw(st.integers(1, 5)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 3, depth)
    thresholds = rng.permutation(20)[:depth]
    if draw(st.booleans()):
        columns[-1], thresholds[-1] = columns[0], boosting.ALWAYS_LEFT
    shape = (2**depth, draw(st.integers(1, 2)))
    return TreeTerm(columns, thresholds, rng.standard_normal(shape)), rng.uniform(0.1, 5, shape)


@given(trees(), st.tuples(*[st.sampled_from([-1, 0, 1])] * 3))
def test_values_of_leaves_are_in_order(tree_and_weights, signs):
    (tree, weights), signs = tree_and_weights, np.array(signs, np.int8)
    found = monotone_values(tree.values, weights, tree, signs)
    ordered = [column for column in range(3) if signs[column] and len(chains_of(tree, column)[0]) > 1]
    for column in ordered:
        for chain in chains_of(tree, column):
            assert (np.diff(found[chain], axis=0) * signs[column] >= 0).all()
            if len(ordered) == 1:
                for k in range(tree.values.shape[1]):
                    expected = signs[column] * pool_adjacent_violators(signs[column] * tree.values[chain, k],
                                                                       weights[chain, k])
                    np.testing.assert_allclose(found[chain, k], expected, rtol=1e-9, atol=1e-12)
    if ordered:
        np.testing.assert_allclose(monotone_values(found, weights, tree, signs), found, rtol=0, atol=1e-12)
    else:
        np.testing.assert_array_equal(found, tree.values)


def test_values_along_two_columns_are_the_nearest_ones():
    """A grid of two by two, by hand: the corners that are out of order become their mean."""
    tree = TreeTerm(np.array([0, 1]), np.array([3, 5]), np.array([[0.0], [2.0], [1.0], [1.0]]))
    found = monotone_values(tree.values, np.ones((4, 1)), tree, np.array([1, 1], np.int8))
    np.testing.assert_allclose(found[:, 0], [0, 1.5, 1, 1.5], atol=1e-12)


# --- fits


def rows_of(rng, n=240):
    """Numbers, one of them with missing values and one that says where, and words."""
    X = rng.standard_normal((n, 3)).round(2)
    X[rng.random(n) < 0.2, 1] = np.nan
    return {"age": X[:, 0], "size": X[:, 1], "price": X[:, 2], "town": rng.choice(["a", "b", "c"], n).tolist()}


def target_of(table, rng):
    age, size, price = (table[name] for name in ("age", "size", "price"))
    return (np.sin(2 * age) + age + np.nan_to_num(size) * price - price**2
            + 0.3 * rng.standard_normal(len(age)))


def pairs_of(table, signs, rng):
    """Two tables: each row of the second has values in the direction of the sign in its columns, else the same."""
    low, high = dict(table), dict(table)
    for name, sign in signs.items():
        moves = rng.exponential(1.0, len(table[name])) * rng.integers(0, 2, len(table[name]))
        high[name] = table[name] + sign * moves
    return low, high


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1), st.fixed_dictionaries({}, optional={
    name: st.sampled_from([-1, 1]) for name in ("age", "size", "price")}), st.booleans(), st.booleans())
def test_scores_rise_exactly(seed, signs, is_class, weighted):
    rng = np.random.default_rng(seed)
    table = rows_of(rng)
    target = target_of(table, rng)
    weights = rng.integers(0, 4, len(target)).astype(float) if weighted else None
    params = SMALL | {"n_estimators": 25, "monotone_constraints": signs, "kernel_ridge": True}
    if len(signs) == 3:
        params["kernel_ridge"] = "auto"
    if is_class:
        model = FourierBoostingClassifier(**params).fit(table, np.where(target > 0, "yes", "no"), weights)
        score, probabilities = model.decision_function, lambda rows: model.predict_proba(rows)[:, 1]
    else:
        model = FourierBoostingRegressor(**params).fit(table, target, weights)
        score = probabilities = model.predict
    low, high = pairs_of(table, signs, rng)
    assert (score(high) >= score(low)).all()
    assert (probabilities(high) >= probabilities(low) - 1e-15).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [None, "auto"])
@pytest.mark.parametrize("params", [{}, {"base_learners": ("tree",)},
                                    {"loss": "quantile", "quantile": (0.1, 0.9)}, {"loss": "poisson"},
                                    {"validation": "last"}])
def test_scores_fall_exactly(rng, dtype, columns, params):
    X = rng.standard_normal((300, 3)).astype(dtype)
    y = np.exp(X[:, 0] + np.sin(3 * X[:, 1]) - 0.5 * X[:, 2]).astype(dtype)
    model = FourierBoostingRegressor(**SMALL, **params, columns=columns, monotone_constraints=[1, 0, -1]).fit(X, y)
    moved = X.copy()
    moved[:, 0] -= rng.exponential(1, 300).astype(dtype)
    moved[:, 2] += rng.exponential(1, 300).astype(dtype)
    assert (model._raw_scores(moved) <= model._raw_scores(X)).all()
    assert (model.predict(moved) <= model.predict(X)).all()
    assert model.feature_importances_[0] > 0


def test_what_has_no_order_is_learned_as_ever(rng):
    """An order that agrees with the target costs little, one that does not leaves out the column."""
    X = rng.uniform(-2, 2, (900, 2))
    y = X[:, 0] ** 3 + np.sin(3 * X[:, 1])
    scores = [FourierBoostingRegressor(**SMALL | {"n_estimators": 200}, kernel_ridge=False,
                                       monotone_constraints=signs).fit(X[:600], y[:600]).score(
        X[600:], y[600:]) for signs in (None, {0: 1}, {0: -1})]
    assert scores[1] > 0.95
    assert scores[2] < 0.3


def test_several_targets_all_rise(rng):
    X = rng.standard_normal((200, 2))
    y = np.stack([X[:, 0] - X[:, 1], np.sin(2 * X[:, 0])], axis=1)
    model = FourierBoostingRegressor(**SMALL, monotone_constraints={0: 1}).fit(X, y)
    assert (model.predict(X + np.array([0.5, 0])) >= model.predict(X)).all()


def test_no_kernel_reads_what_has_an_order(rng):
    X = rng.uniform(-1, 1, (300, 3))
    y = 0.1 * X[:, 0] + np.sin(9 * X[:, 1]) * np.cos(9 * X[:, 2])
    model = FourierBoostingRegressor(**SMALL, monotone_constraints={0: 1}, kernel_ridge=True).fit(X, y)
    inverse = model.expansion_.kernels.inverse_length_scales
    np.testing.assert_array_equal(inverse[model.column_map_.sources_ == 0], 0)
    assert (inverse[model.column_map_.sources_ != 0] > 0).all()
    assert (model.predict(X + np.array([0.1, 0, 0])) >= model.predict(X)).all()


def second_differences(model, X, j, k):
    """How far the joint effect of two columns is from a sum of one of each."""
    both, one, other = X.copy(), X.copy(), X.copy()
    both[:, [j, k]] = X[::-1, [j, k]]
    one[:, j], other[:, k] = X[::-1, j], X[::-1, k]
    scores = [model._raw_scores(rows) for rows in (X, both, one, other)]
    return np.abs(scores[0] + scores[1] - scores[2] - scores[3]).max()


SETS = {
    "no_interactions": ("no_interactions", []),
    "one set": ([[0, 1]], [(0, 1), (2, 3)]),
    "overlapping": ([(0, 1), {1, 2}, np.array([3]).tolist()], [(0, 1), (1, 2)]),
}


@pytest.mark.parametrize("columns", [None, "auto"])
@pytest.mark.parametrize("case", SETS)
def test_columns_of_different_sets_do_not_interact(rng, case, columns):
    X = rng.standard_normal((300, 4))
    y = X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2] + X[:, 2] * X[:, 3] + X[:, 0] * X[:, 3]
    given_sets, pairs = SETS[case]
    model = FourierBoostingRegressor(**SMALL, interaction_constraints=given_sets, columns=columns).fit(X, y)
    for j, k in itertools.combinations(range(4), 2):
        found = second_differences(model, X, j, k)
        assert found > 0.1 if (j, k) in pairs else found < 1e-12 * 300, (j, k)
    assert model.kernel_ridge_report_.reason.startswith("not used: interaction_constraints")


def test_pairs_of_columns(rng):
    """Terms read two columns at most, and all pairs may be read."""
    X = rng.standard_normal((300, 4))
    model = FourierBoostingClassifier(**SMALL, interaction_constraints="pairwise", columns=None).fit(
        X, X[:, 0] * X[:, 1] * X[:, 2] + X[:, 3] > 0)
    reads = model.expansion_._reads()
    assert reads.sum(axis=1).max() == 2
    assert len(np.unique(reads[reads.sum(axis=1) == 2], axis=0)) > 3


def test_chosen_pairs(rng, tmp_path):
    """The products are found, strongest first, of words too."""
    table = rows_of(rng, 500)
    table |= {"noise": rng.standard_normal(500), "other": rng.integers(0, 3, 500)}
    south = np.array(table["town"]) == "a"
    y = 2 * table["age"] * table["price"] + np.where(south, 1.0, -1.0) * table["noise"] + np.sin(table["other"])
    params = SMALL | {"n_estimators": 120}
    pairs = [("age", "price"), ("town", "noise")]
    for k in range(3):
        model = FourierBoostingRegressor(**params, interaction_constraints=k).fit(table, y)
        assert model.interaction_pairs_ == pairs[:k]
    save(model, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert again.interaction_constraints == 2
    assert again.interaction_pairs_ == model.interaction_pairs_
    warm = FourierBoostingRegressor(**params | {"n_estimators": 50}, interaction_constraints=2, warm_start=True)
    warm.fit(table, y).set_params(n_estimators=120).fit(table, y)
    np.testing.assert_array_equal(warm.predict(table), model.predict(table))


def test_pairs_of_classes_and_of_noise(rng):
    X = rng.standard_normal((400, 4))
    labels = np.where(X[:, 0] * X[:, 3] > 0, np.where(X[:, 1] > 0, 2, 1), 0)
    for y in (labels > 0, labels):
        model = FourierBoostingClassifier(**SMALL, interaction_constraints=np.int64(1), columns=None).fit(X, y)
        assert model.interaction_pairs_ == [(0, 3)]
    model = FourierBoostingClassifier(**SMALL, interaction_constraints=6, columns=None).fit(X, np.arange(400) % 2)
    assert len(model.interaction_pairs_) < 4
    assert FourierBoostingClassifier(**SMALL, interaction_constraints=5).fit(X[:, :1], labels).interaction_pairs_ == []


def gain_by_trial(first, second, gradient, hessian):
    """`pair_gain` of one output, by least squares on an indicator of each bin, and of one quadrant more."""
    bins = np.column_stack([each[:, None] == np.arange(each.max() + 1) for each in (first, second)])
    root = np.sqrt(hessian)

    def left(columns):
        found = np.linalg.lstsq(root[:, None] * columns, gradient / root, rcond=None)[0]
        return gradient - hessian * (columns @ found)

    best = 0.0
    for i, j in itertools.product(range(first.max()), range(second.max())):
        quadrants = 2 * (first > i) + (second > j)
        sums, weights = (np.bincount(quadrants, each, 4) for each in (left(bins.astype(float)), hessian))
        best = max(best, float((sums**2 / (weights + 1)).sum()))
    return best


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4))
def test_gain_of_a_pair(seed, n_first, n_second):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, n_first, 200), rng.integers(0, n_second, 200)
    gradient, hessian = rng.standard_normal(200), rng.uniform(0.5, 2, 200)
    found = pair_gain(first, second, gradient[None], hessian[None])
    np.testing.assert_allclose(found, gain_by_trial(first, second, gradient, hessian), rtol=0.02, atol=1e-9)


def test_one_column_with_either_constraint(rng):
    X = rng.standard_normal((60, 1))
    for params in ({"interaction_constraints": "pairwise"}, {"interaction_constraints": 2},
                   {"monotone_constraints": [1]},
                   {"interaction_constraints": "no_interactions", "monotone_constraints": {0: 1}}):
        model = FourierBoostingRegressor(**SMALL, **params).fit(X, X[:, 0])
        assert model.score(X, X[:, 0]) > 0.8
        assert np.isfinite(FourierBoostingRegressor(**SMALL, **params).fit(X[:2], X[:2, 0]).predict(X)).all()
        constant = FourierBoostingRegressor(**SMALL, columns=None, **params).fit(np.ones((60, 1)), X[:, 0])
        assert np.ptp(constant.predict(X)) == 0


def test_missing_values_are_not_imputed_from_other_columns(rng):
    table = rows_of(rng)
    table["price"] = np.nan_to_num(table["size"]) + 0.1 * table["price"]
    plain = FourierBoostingRegressor(**SMALL).fit(table, table["age"])
    assert any("imputed_from" in row for row in plain.column_map_.describe())
    for params in ({"monotone_constraints": {"age": 1}}, {"interaction_constraints": "no_interactions"}):
        model = FourierBoostingRegressor(**SMALL, **params).fit(table, table["age"])
        assert not any("imputed_from" in row for row in model.column_map_.describe())


def test_no_constraint_has_the_bits_of_the_default(rng):
    X = rng.standard_normal((150, 3))
    expected = FourierBoostingRegressor(**SMALL).fit(X, X[:, 0]).predict(X)
    for given_signs in ({}, {0: 0}, [0, 0, 0]):
        model = FourierBoostingRegressor(**SMALL, monotone_constraints=given_signs).fit(X, X[:, 0])
        np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("params", [{"monotone_constraints": {"age": 1, 2: -1}},
                                    {"interaction_constraints": [["age", "size"], [2]]}])
def test_files_rounds_and_blocks(rng, tmp_path, params):
    """A file has the parameters; warm start and rows in blocks give the same bits."""
    table = rows_of(rng)
    target = target_of(table, rng)
    model = FourierBoostingRegressor(**SMALL, **params).fit(table, target)
    save(model, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert json.dumps(again.get_params()["interaction_constraints"]) == json.dumps(
        model.get_params()["interaction_constraints"])
    assert again.monotone_constraints == model.monotone_constraints
    np.testing.assert_array_equal(again.predict(table), model.predict(table))

    warm = FourierBoostingRegressor(**SMALL | {"n_estimators": 15}, **params, warm_start=True).fit(table, target)
    warm.set_params(n_estimators=40).fit(table, target)
    np.testing.assert_array_equal(warm.predict(table), model.predict(table))

    blocks = RowBlocks(lambda: ({name: values[start : start + 100] for name, values in table.items()}
                                for start in (0, 100, 200)))
    streamed = FourierBoostingRegressor(**SMALL, **params).fit(blocks, target)
    low, high = pairs_of(table, {"age": 1, "price": -1} if "monotone_constraints" in params else {}, rng)
    assert (streamed.predict(high) >= streamed.predict(low)).all()


def test_pairs_of_partitions(rng):
    X = rng.standard_normal((600, 4))
    model = FourierBoostingRegressor(**SMALL, columns=None, interaction_constraints=1)
    fit_partitions(model, LocalPartitions(cut([0, 250, 600], X, X[:, 1] * X[:, 2]), has_labels=False), {}, None)
    assert model.interaction_pairs_ == [(1, 2)]


def test_partitions(rng):
    X = rng.standard_normal((600, 3))
    y = X[:, 0] + np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    model = FourierBoostingRegressor(**SMALL | {"n_estimators": 80}, columns=None, monotone_constraints={0: 1},
                                     interaction_constraints=[[0], [1, 2]])
    fit_partitions(model, LocalPartitions(cut([0, 250, 600], X, y), has_labels=False), {}, None)
    assert (model.predict(X + np.array([0.3, 0, 0])) >= model.predict(X)).all()
    assert second_differences(model, X, 0, 1) < 1e-10
    assert model.score(X, y) > 0.5


# --- what is refused


WRONG = [
    ({"monotone_constraints": {"age": 2}}, "must be a dict such as"),
    ({"monotone_constraints": {"age": True}}, "must be a dict such as"),
    ({"monotone_constraints": {("age",): 1}}, "must be a dict such as"),
    ({"monotone_constraints": "age"}, "must be a dict such as"),
    ({"monotone_constraints": [1, 0]}, r"one entry per column \(4\), got 2"),
    ({"monotone_constraints": {"aeg": 1}}, "monotone_constraints must be names or indices of columns, got 'aeg'"),
    ({"monotone_constraints": {-1: 1}}, "got -1 with 4 columns"),
    ({"monotone_constraints": {"age": 1, 0: 1}}, "each column once"),
    ({"monotone_constraints": {"town": 1}}, "columns of numbers, got column 'town' of X, which holds category values"),
    ({"monotone_constraints": {"age": 1}, "columns": ColumnMap(("rank", "standard"))}, "as the first form of numbers"),
    ({"monotone_constraints": {"age": 1}, "base_learners": ("fourier",)}, 'base_learners must include "tree"'),
    ({"interaction_constraints": "none"}, "must be 'no_interactions'"),
    ({"interaction_constraints": []}, "must be 'no_interactions'"),
    ({"interaction_constraints": -1}, "a number of pairs >= 0"),
    ({"interaction_constraints": True}, "a number of pairs >= 0"),
    ({"interaction_constraints": [[]]}, "must be 'no_interactions'"),
    ({"interaction_constraints": ["age"]}, "must be 'no_interactions'"),
    ({"interaction_constraints": [["age", 4]]}, "got 4 with 4 columns"),
    ({"interaction_constraints": "pairwise", "kernel_ridge": True}, "kernel_ridge must be False or 'auto'"),
]


@pytest.mark.parametrize(("params", "message"), WRONG)
def test_wrong_constraints(rng, params, message):
    table = rows_of(rng, 40)
    with pytest.raises(InvalidInputError, match=message):
        FourierBoostingRegressor(**SMALL | params).fit(table, table["age"])


def test_more_than_two_classes_and_differences_of_dates(rng):
    X = rng.standard_normal((60, 2))
    with pytest.raises(InvalidInputError, match="None for more than two classes, got 3"):
        FourierBoostingClassifier(**SMALL, monotone_constraints={0: 1}).fit(X, np.arange(60) % 3)
    dates = {"start": np.arange(60).astype("datetime64[D]"), "end": (np.arange(60) ** 2).astype("datetime64[D]")}
    columns = ColumnMap(date_parts="differences")
    with pytest.raises(InvalidInputError, match="differences"):
        FourierBoostingRegressor(**SMALL, columns=columns, interaction_constraints=[[0, 1]]).fit(dates, X[:, 0])
    with pytest.raises(InvalidInputError, match="column 'end' of X, which holds date values"):
        FourierBoostingRegressor(**SMALL, monotone_constraints={"end": 1}).fit(dates, X[:, 0])


FREE = Constraints(np.array([1, 0], np.int8), np.array([True, True]), np.array([True, False]), np.empty(0, np.intp),
                   np.array([0]))
APART = FREE._replace(signs=np.zeros(2, np.int8), members=np.array([0, 1]), starts=np.array([0, 1, 2]))
TREE = TreeTerms([[0, 0]], [[1.0, 2.0]], [[0.0], [1.0], [0.5]])


@pytest.mark.parametrize(("constraints", "part", "is_kept"), [
    (FREE, FourierTerms([[0.0, 1.0]], [0.0], [[1.0]]), True),
    (FREE, FourierTerms([[1e-300, 1.0]], [0.0], [[1.0]]), False),
    (FREE, LinearTerms([[0.0], [-1.0]]), True),
    (FREE, LinearTerms([[1e-300], [1.0]]), False),
    (FREE, TreeTerms([[0, 0]], [[1.0, 2.0]], [[0.0], [1.0], [1.0]]), True),
    (FREE, TREE, False),
    (FREE._replace(signs=np.array([0, 1], np.int8)), TREE, True),
    (FREE._replace(usable=np.array([False, True])), TreeTerms([[0]], [[1.0]], [[0.0], [1.0]]), False),
    (FREE, KernelTerms([[0.0, 0.0]], [[1.0]], [0.0, 1.0]), True),
    (FREE, KernelTerms([[0.0, 0.0]], [[1.0]], [1.0, 1.0]), False),
    (FREE, KernelTerms([[0.0, 0.0], [1.0, 0.0]], [[1.0], [1.0]], [0.0, 1.0], [1.0], [0], [0.5], [0, 1, 2]), False),
    (APART, FourierTerms([[0.0, 1.0]], [0.0], [[1.0]]), True),
    (APART, FourierTerms([[1.0, 1.0]], [0.0], [[1.0]]), False),
    (APART, TreeTerms([[0, 1]], [[1.0, 2.0]], np.zeros((4, 1))), False),
])
def test_a_function_that_breaks_constraints_is_found(constraints, part, is_kept):
    function = Expansion([0.0], [0.0, 0.0], part)
    if is_kept:
        check_constraints(function, constraints, np.arange(2))
    else:
        with pytest.raises(RuntimeError, match="defect of rffkern"):
            check_constraints(function, constraints, np.arange(2))


def test_shapley_values_of_an_additive_model_are_its_curves(rng):
    """The value of a column depends on this column alone, and differs from the partial dependence by a constant."""
    X = rng.standard_normal((200, 3))
    model = FourierBoostingRegressor(**SMALL, interaction_constraints="no_interactions").fit(X, X[:, 0] ** 2 - X[:, 1])
    other = X[::-1].copy()
    other[:, 0] = X[:, 0]
    values = model.explain(X).values[:, 0]
    np.testing.assert_allclose(model.explain(other).values[:, 0], values, atol=1e-9)
    curve = model.partial_dependence(X, 0, n_points=200)
    at = np.searchsorted(curve.values, X[:, 0])
    differences = values - curve.scores[at]
    assert np.ptp(differences) < 1e-9


def test_numbers_that_are_names_of_other_columns_are_refused(rng):
    """Of columns 3, 2, 1, 0 the constraint of 3 would be that of the column in the last place, whose name is 0."""
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(rng.standard_normal((60, 4)), columns=[3, 2, 1, 0])
    message = r"got 3, which is the name of one column and the place of '0': write '3' or '0'"
    with pytest.raises(InvalidInputError, match=message):
        FourierBoostingRegressor(5, monotone_constraints={3: 1}).fit(table, table[3])
    model = FourierBoostingRegressor(5, monotone_constraints={"3": 1}, random_state=0).fit(table, table[3])
    with pytest.raises(InvalidInputError, match=message):
        model.partial_dependence(table, 3)
    assert model.partial_dependence(table, "3") is not None
    plain = table.set_axis([0, 1, 2, 3], axis=1)
    FourierBoostingRegressor(5, monotone_constraints={3: 1}, random_state=0).fit(plain, plain[3])
