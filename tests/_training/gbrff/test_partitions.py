"""Training on rows in partitions: as on all rows here, whatever is lost on the way."""

import itertools
import pickle
import re

import numpy as np
import pytest
from helpers.partitions import LocalPartitions, cut, edges_of, same

from rffkern import GBRFF1Classifier, GBRFF2Classifier, GBRFFClassifier, GBRFFRegressor, InvalidInputError
from rffkern._training.gbrff.partitions import fit_partitions

N_ROWS = 900


@pytest.fixture
def table(rng):
    """Rows, labels of two and of three classes, two targets and weights, some of them 0."""
    X = rng.standard_normal((N_ROWS, 3))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0, "yes", "no")
    targets = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1)
    weights = rng.integers(0, 3, N_ROWS).astype(float)
    return {"X": X, "two": y, "three": np.where(X[:, 2] > 1, "perhaps", y), "one": targets[:, 0], "several": targets,
            "weights": weights}


FITS = {
    "gbrff2": (GBRFF2Classifier, "two", {}),
    "gbrff2 of three classes": (GBRFF2Classifier, "three", {"class_weight": "balanced"}),
    "gbrff2 with class weights": (GBRFF2Classifier, "two", {"class_weight": {"yes": 3.0}}),
    "gbrff1": (GBRFF1Classifier, "two", {}),
    "gbrff1 of phases": (GBRFF1Classifier, "three", {"n_components": 1}),
    "gbrff1 of exact steps": (GBRFF1Classifier, "two", {"step": "exact"}),
    "gbrff1 of random landmarks": (GBRFF1Classifier, "two", {"landmarks": "random"}),
    "least squares on labels": (GBRFFClassifier, "three", {"n_components": 5}),
    "least squares": (GBRFFRegressor, "one", {"n_components": 5}),
    "least squares of two targets": (GBRFFRegressor, "several", {"n_components": 5, "standardize": False}),
}


def fitted(make, params, pieces, held_out=(), callback=None, **options):
    model = make(3, precision="double", random_state=0, **params)
    engines = {f"valid_{k}": LocalPartitions(each, "eval_set ", model._has_labels) for k, each in enumerate(held_out)}
    fit_partitions(model, LocalPartitions(pieces, has_labels=model._has_labels, **options), engines, callback)
    return model


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FITS)
def test_as_on_all_rows(rng, table, name, weighted):
    """Sums are added in another order; what descents make of the last bit stays below 1e-6 in three rounds."""
    make, target, params = FITS[name]
    weights = table["weights"] if weighted else None
    pieces = cut(edges_of(N_ROWS, 4, rng), table["X"], table[target], weights)
    model = fitted(make, params, pieces)
    local = make(3, precision="double", random_state=0, **params).fit(table["X"], table[target], weights)
    np.testing.assert_allclose(model.train_loss_, local.train_loss_, rtol=1e-6)
    np.testing.assert_allclose(model.expansion_.score(table["X"]), local.expansion_.score(table["X"]), atol=1e-6)
    assert model.expansion_.n_terms == local.expansion_.n_terms > 0
    assert np.isfinite(model.feature_importances_).all()
    if hasattr(local, "classes_"):
        assert model.classes_.tolist() == local.classes_.tolist()


@pytest.mark.parametrize("max_samples", [256, None])
@pytest.mark.parametrize("name", FITS)
def test_partitions_may_be_lost_and_may_travel(rng, table, name, max_samples):
    make, target, params = FITS[name]
    params = params | {"max_samples": max_samples}
    pieces = cut(edges_of(N_ROWS, 3, rng), table["X"], table[target], table["weights"])
    model = fitted(make, params, pieces)
    assert same(model, fitted(make, params, pieces, lost=range(2, 60, 5)))
    assert same(model, fitted(make, params, pieces, travels=True))


def test_subsets_are_equal_shares_of_the_partitions(rng, table):
    """Learning from samples of a round: as good as the local fit's, whose samples are others."""
    pieces = cut(edges_of(N_ROWS, 5, rng), table["X"], table["two"])
    losses = [[fitted(GBRFF2Classifier, {"max_samples": 256}, pieces).train_loss_[-1],
               GBRFF2Classifier(3, max_samples=256, precision="double", random_state=0).fit(
                   table["X"], table["two"]).train_loss_[-1]]]
    assert np.ptp(losses) < 0.2
    assert np.max(losses) < 0.95


def test_partitions_without_rows_take_no_part(table):
    """Nor rows of weight 0, in partitions of their own or beside others; partitions may be of one class."""
    order = np.argsort(table["two"], kind="stable")  # partitions of one class
    X, y = table["X"][order], table["two"][order]
    weights = np.ones(N_ROWS)
    edges = [0, 200, 700, N_ROWS]
    pieces = cut(edges, X, y, weights)
    nothing = X[:0], y[:0], weights[:0]
    weightless = X[:50] + 1, y[:50], np.zeros(50)
    last = [np.concatenate(each) for each in zip(pieces[2], weightless, strict=True)]
    model, more, longer = (fitted(GBRFF2Classifier, {}, each) for each in (
        pieces, [nothing, pieces[0], weightless, nothing, *pieces[1:]], [*pieces[:2], last]))
    assert same(model, more)
    assert same(model, longer)
    with pytest.raises(InvalidInputError, match="X must have rows of positive weight, got none in any partition"):
        fitted(GBRFF2Classifier, {}, [nothing, weightless])


@pytest.mark.parametrize("name", ["gbrff2 of three classes", "least squares of two targets", "gbrff1 of exact steps"])
def test_rows_held_out(table, name):
    make, target, params = FITS[name]
    X, y, weights = table["X"], table[target], table["weights"]
    train, valid, more = cut([0, 500, 700, N_ROWS], X, y, weights)
    params = params | {"early_stopping_rounds": 1}
    model = fitted(make, params, cut([0, 100, 450, 500], *train), [cut([0, 90, 200], *valid), [more]])
    local = make(3, precision="double", random_state=0, **params).fit(*train, eval_set=[valid, more])
    assert list(model.eval_losses_) == list(local.eval_losses_) == ["valid_0", "valid_1"]
    for found, expected in zip(model.eval_losses_.values(), local.eval_losses_.values(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_array_equal(model.eval_loss_, model.eval_losses_["valid_0"])


def test_a_callback_ends_the_fit(table):
    seen = []
    pieces = cut([0, 300, N_ROWS], table["X"], table["two"])
    model = fitted(GBRFF2Classifier, {}, pieces, callback=lambda info: seen.append(info.n_rounds) or len(seen) == 2)
    assert seen == [1, 2]
    assert model.n_estimators_ == 2


def test_what_a_round_sends(table):
    """The term and a few sums to and from each partition, and the sample with its residuals."""
    X, n_parts, max_samples = table["X"], 4, 128
    pieces = cut(np.linspace(0, N_ROWS, n_parts + 1).astype(int), X, table["two"])
    engine = LocalPartitions(pieces)
    marks = []
    model = GBRFF2Classifier(5, precision="double", random_state=0, max_samples=max_samples)
    fit_partitions(model, engine, {}, lambda info: marks.append(len(engine.n_bytes)))
    round_bytes = [sum(engine.n_bytes[start:stop]) for start, stop in itertools.pairwise(marks)]
    sample = max_samples * 8 * (X.shape[1] + 1)
    assert sample < max(round_bytes) < sample + 1500 * n_parts
    assert np.diff(marks).max() <= 3  # questions


@pytest.mark.parametrize(("column", "place", "value", "message"), [
    ("X", (5, 1), np.nan, "X of partition 1 must be finite .* got NaN at row 2, column 1"),
    ("weights", 4, -1, "sample_weight of partition 1 must not be negative"),
])
def test_bad_rows_are_named(table, column, place, value, message):
    table[column][place] = value
    with pytest.raises(InvalidInputError, match=message):
        fitted(GBRFF2Classifier, {}, cut([0, 3, N_ROWS], table["X"], table["two"], table["weights"]))


def test_partitions_that_do_not_fit_together_are_named(table):
    X, y, target = table["X"], table["two"], table["several"]
    pieces = cut([0, 300, 600, N_ROWS], X, y)

    def refused(message, pieces, make=GBRFF2Classifier, held_out=()):
        with pytest.raises(InvalidInputError, match=message) as raised:
            fitted(make, {}, pieces, held_out)
        named = re.search("of partition ([0-9])", message)
        assert pickle.loads(pickle.dumps(raised.value)).partition == (None if named is None else int(named[1]))

    def changed(place, X=X, y=y):
        return [*pieces[:place], (X, y), *pieces[place + 1 :]]

    refused("X of partition 2 must have 3 features, got 2", changed(2, X[:, :2]))
    refused(r"y of partition 1 must have one entry per row of X \(900\), got 800", changed(1, y=y[:800]))
    refused("y of partition 1 must hold labels of one kind with those of partition 0", changed(1, y=np.arange(N_ROWS)))
    refused("y must hold at least two classes, got 1 class", cut([0, 300, N_ROWS], X, np.full(N_ROWS, "yes")))
    refused("eval_set y of partition 0 must hold labels of the training, such as 'no', got 'other'", pieces,
            held_out=[[(X, np.where(X[:, 0] > 0, "yes", "other"))]])
    refused("eval_set X of partition 1 must have 3 features", pieces, held_out=[[pieces[0], (X[:, :1], y)]])
    refused("y of partition 1 must have 2 targets, got 1", [(X, target), (X, target[:, 0])], GBRFFRegressor)
    refused("minimum of 2 is required", [(X[:1], target[:1]), (X[:0], target[:0])], GBRFFRegressor)
    refused("eval_set y of partition 0 must have 2 targets, got 1", [(X, target)], GBRFFRegressor,
            [[(X, target[:, 0])]])


def test_columns_of_other_names_are_named(table):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table["X"], columns=["a", "b", "c"])
    y = table["two"]
    model = fitted(GBRFF2Classifier, {}, [(frame[:400], y[:400]), (frame[400:], y[400:])])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    other = frame.rename(columns={"b": "z"})
    with pytest.raises(InvalidInputError, match="X of partition 1: The feature names should match"):
        fitted(GBRFF2Classifier, {}, [(frame[:400], y[:400]), (other[400:], y[400:])])


@pytest.mark.parametrize(("name", "value"), [("warm_start", True), ("validation_fraction", 0.1), ])
def test_parameters_that_need_all_rows_are_refused(table, name, value):
    with pytest.raises(InvalidInputError, match=f"{name} must be .*(False|None) where rows are in partitions"):
        fitted(GBRFF2Classifier, {name: value}, [(table["X"], table["two"])])


def test_weights_that_are_large_are_no_trouble(table):
    """Only their ratios count."""
    X, y, weights = table["X"], table["two"], table["weights"]
    pieces = [cut([0, 300, N_ROWS], X, y, factor * weights) for factor in (1.0, 2.0**60)]
    one, other = (fitted(GBRFF2Classifier, {}, each) for each in pieces)
    assert same(one, other)
