"""Training on rows in partitions: close to training on all rows here, whatever is lost on the way."""

import itertools
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.partitions import LocalPartitions, cut, edges_of, same

from rffkern import FourierBoostingClassifier, FourierBoostingRegressor, InvalidInputError, dumps
from rffkern._rows.scaling import no_scaling
from rffkern._rows.training_rows import TargetRows
from rffkern._rows.weights import RowWeights
from rffkern._training.fourier_boosting import stacking
from rffkern._training.fourier_boosting.binning import bin_columns, find_bins
from rffkern._training.fourier_boosting.distributed import BoostedPartition, fit_partitions
from rffkern._training.fourier_boosting.losses import Loss
from rffkern._training.fourier_boosting.parameters import BASE_LEARNERS, LOSSES
from rffkern._training.fourier_boosting.terms import LinearTerm
from rffkern._training.fourier_boosting.training_rows import Columns

pytestmark = pytest.mark.slow

N_ROWS = 1500


@pytest.fixture
def table(rng):
    """Rows, labels of two and of three classes, targets, counts and weights, some of them 0."""
    X = rng.standard_normal((N_ROWS, 3))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, "yes", "no")
    targets = np.stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 1] ** 2], axis=1)
    return {"X": X, "two": y, "three": np.where(X[:, 2] > 1, "perhaps", y), "one": targets[:, 0], "several": targets,
            "counts": rng.poisson(np.exp(targets[:, 0])).astype(float),
            "weights": rng.integers(0, 3, N_ROWS).astype(float)}


FITS = {
    "two classes": (FourierBoostingClassifier, "two", {"base_learners": (*BASE_LEARNERS,)}),
    "three classes": (FourierBoostingClassifier, "three", {"class_weight": "balanced"}),
    "squares": (FourierBoostingRegressor, "one", {}),
    "several targets": (FourierBoostingRegressor, "several", {}),
    "huber": (FourierBoostingRegressor, "one", {"loss": "huber"}),
    "quantiles": (FourierBoostingRegressor, "one", {"loss": "quantile", "quantile": (0.1, 0.5, 0.9)}),
    "counts": (FourierBoostingRegressor, "counts", {"loss": "poisson"}),
}


def made(make, n_rounds, params):
    return make(n_rounds, **{"n_bags": 2, "columns": None, "kernel_ridge": False, "random_state": 0, **params})


def fitted(make, params, pieces, held_out=(), callback=None, n_rounds=25, **options):
    model = made(make, n_rounds, params)
    engines = {f"valid_{k}": LocalPartitions(each, "eval_set ", model._has_labels) for k, each in enumerate(held_out)}
    fit_partitions(model, LocalPartitions(pieces, has_labels=model._has_labels, **options), engines, callback)
    return model


@pytest.mark.parametrize("name", FITS)
def test_nearly_as_on_all_rows(rng, table, name):
    """Losses of rows held out by members of either fit, whose samples and folds are others."""
    make, target, params = FITS[name]
    pieces = cut(edges_of(N_ROWS, 4, rng), table["X"], table[target], table["weights"])
    model = fitted(make, params, pieces, n_rounds=60)
    local = made(make, 60, params).fit(table["X"], table[target], table["weights"])
    gains = [each.eval_loss_[0] - each.eval_loss_[-1] for each in (model, local)]
    assert gains[0] > 0.85 * gains[1]
    assert model.eval_loss_[0] == pytest.approx(local.eval_loss_[0], rel=0.2)
    assert model.feature_importances_.sum() == pytest.approx(1)
    if target in ("two", "three"):
        assert model.classes_.tolist() == local.classes_.tolist()
        assert model.score(table["X"], table[target]) > local.score(table["X"], table[target]) - 0.04


def test_one_partition_is_another_model_of_the_same_accuracy(table):
    """As docs/dask.md says: folds and the order of rows are drawn by partition."""
    X, y = table["X"], table["one"]
    one = fitted(FourierBoostingRegressor, {}, cut(edges_of(N_ROWS, 1, np.random.default_rng(0)), X, y), n_rounds=60)
    local = made(FourierBoostingRegressor, 60, {}).fit(X, y)
    assert not np.array_equal(one.predict(X), local.predict(X))
    assert one.score(X, y) == pytest.approx(local.score(X, y), abs=0.02)


@pytest.mark.parametrize("name", FITS)
def test_partitions_may_be_lost_and_may_travel(rng, table, name):
    make, target, params = FITS[name]
    params = params | {"max_samples": 512}
    pieces = cut(edges_of(N_ROWS, 3, rng), table["X"], table[target], table["weights"])
    model = fitted(make, params, pieces)
    assert same(model, fitted(make, params, pieces, lost=range(2, 300, 7)))
    assert same(model, fitted(make, params, pieces, travels=True))


def test_partitions_of_one_class_and_of_one_row(table):
    order = np.argsort(table["two"], kind="stable")
    X, y = table["X"][order], table["two"][order]
    model = fitted(FourierBoostingClassifier, {}, cut([0, 1, 300, N_ROWS - 1, N_ROWS], X, y), n_rounds=60)
    assert model.score(X, y) > 0.9


def test_all_rows_may_be_the_sample(table):
    pieces = cut([0, 700, N_ROWS], table["X"], table["two"])
    some, all_rows = (fitted(FourierBoostingClassifier, {"max_samples": size}, pieces) for size in (N_ROWS, None))
    assert same(some, all_rows)


@pytest.mark.parametrize("name", ["three classes", "quantiles"])
def test_rows_held_out_decide(table, name):
    """Those of the first set; a second is watched."""
    make, target, params = FITS[name]
    train, valid, more = cut([0, 900, 1200, N_ROWS], table["X"], table[target], table["weights"])
    sets = [cut([0, 90, 300], *valid), [more]]
    model = fitted(make, params | {"early_stopping_rounds": 5}, cut([0, 100, 900], *train), sets, n_rounds=80)
    assert list(model.eval_losses_) == ["valid_0", "valid_1"]
    np.testing.assert_array_equal(model.eval_loss_, model.eval_losses_["valid_0"])
    assert model.eval_loss_[-1] < 0.8 * model.eval_loss_[0]
    assert model.eval_losses_["valid_1"][-1] < 0.8 * model.eval_losses_["valid_1"][0]
    assert len(model.train_loss_) == len(model.eval_loss_)


def test_losses_are_those_of_the_model(table):
    """Of one member without early stopping: the watched loss, before scores are multiplied, follows from the terms."""
    X, y = table["X"], table["one"]
    params = {"n_bags": 1, "early_stopping_rounds": None}
    model = fitted(FourierBoostingRegressor, params, cut([0, 500, 1000], X, y), [[(X[1000:], y[1000:])]])
    unit = y[:1000].std()
    expected = np.mean((model.predict(X[1000:]) - y[1000:]) ** 2) / 2 / unit**2
    assert model.eval_loss_[-1] == pytest.approx(expected, rel=1e-4)
    assert model.train_loss_[-1] == pytest.approx(np.mean((model.predict(X[:1000]) - y[:1000]) ** 2) / 2 / unit**2,
                                                  rel=1e-4)


def test_a_callback_ends_the_fit(table):
    seen = []
    pieces = cut([0, 300, N_ROWS], table["X"], table["two"])
    model = fitted(FourierBoostingClassifier, {"early_stopping_rounds": None}, pieces,
                   callback=lambda info: seen.append(info.n_rounds) or len(seen) == 3)
    assert seen[:3] == [1, 2, 3]
    assert model.n_estimators_ <= 3


def test_what_rounds_send(table):
    """A sample once for each bag, and then terms and sums; a table asks first for sums of leaves."""
    X, n_parts, max_samples = table["X"], 3, 128
    engine = LocalPartitions(cut(np.linspace(0, N_ROWS, n_parts + 1).astype(int), X, table["two"]))
    model, marks = made(FourierBoostingClassifier, 12, {"max_samples": max_samples, "n_bags": 1}), []
    fit_partitions(model, engine, {}, lambda info: marks.append(len(engine.n_bytes)))
    assert 8 * max_samples * (5 * X.shape[1] + 12) < max(engine.n_bytes[: marks[0]])  # numbers, bins, and others
    sent = [sum(engine.n_bytes[start:stop]) for start, stop in itertools.pairwise(marks)]
    assert max(sent) < n_parts * (2 * 16 * 2**5 + 2000)  # sums and values of leaves
    assert set(np.diff(marks).tolist()) == {1, 2}


def partition_of(rng, n_rows=5000, n_columns=4, n_outputs=2, X=None):
    X = rng.standard_normal((n_rows, n_columns)) if X is None else X
    rows = TargetRows(X, rng.standard_normal((n_rows, n_outputs)), RowWeights(n_rows, rng.uniform(0.5, 2, n_rows)))
    loss = Loss(LOSSES["squared_error"])
    every = np.arange(n_columns)
    _, edges = bin_columns(np.ascontiguousarray(X.T, np.float32), every)
    columns = Columns(np.empty((n_columns, 0), np.float32), every, every, np.empty((n_columns, 0), np.uint8), edges,
                      X.min(axis=0), X.max(axis=0))
    initial = loss.initial_scores(rows.values.T, rows.weights.each)
    partition = BoostedPartition(SimpleNamespace(number=0, rows=rows, y_name="y"), loss, None, initial,
                                 no_scaling(n_columns), columns, {0: 10**6}, 0)
    partition.begin(0, 7, (3, 5, 1), False)
    return partition, partition._rows


def test_sums_of_cells_are_those_of_their_rows(rng):
    partition, state = partition_of(rng)
    columns, cuts = np.array([2, 0, 2]), np.array([100, 30, 200])
    gradient, hessian = partition.leaf_sums(columns, cuts)
    leaves = sum((state.bins[j, : state.n_train] > at).astype(int) << level
                 for level, (j, at) in enumerate(zip(columns, cuts, strict=True)))
    for leaf, output in itertools.product(range(8), range(2)):
        mask = leaves == leaf
        for found, each in ((gradient, state.gradient), (hessian, state.hessian)):
            expected = each[output, : state.n_train][mask].sum(dtype=np.float64)
            assert found[leaf, output] == pytest.approx(expected, rel=2.0**-23, abs=1e-9)  # single precision


def test_products_are_those_of_all_rows(rng):
    partition, state = partition_of(rng)
    chosen = np.array([0, 3])
    rows, weight = state.columns[chosen, : state.n_train].astype(float), state.weight[: state.n_train]
    gram, sums, total = np.split(partition.moments(chosen), [4, 6])
    np.testing.assert_allclose(gram.reshape(2, 2), np.tril((rows * weight) @ rows.T), rtol=1e-5, atol=1e-2)
    np.testing.assert_allclose(np.append(sums, total), [*(rows @ weight), weight.sum()], rtol=1e-5, atol=1e-2)
    rows = np.concatenate([rows, np.ones((1, state.n_train))])
    np.testing.assert_allclose(partition.gradient_products(chosen), state.gradient[:, : state.n_train] @ rows.T,
                               rtol=1e-5, atol=1e-2)


def test_a_trial_changes_nothing(rng):
    partition, state = partition_of(rng)
    before, sums = state.scores.copy(), state.sums
    line = LinearTerm(np.arange(4), rng.standard_normal((2, 4)))
    found = partition.loss_sums_after_unit_step(line)
    np.testing.assert_array_equal(state.scores, before)
    assert state.sums == sums != found
    partition.add_step(line, 1.0)
    assert state.sums == found
    np.testing.assert_allclose(state.scores - before, line.coefficients @ state.columns, atol=1e-5)


def test_a_sample_is_of_the_rows_learned_from(rng):
    partition, state = partition_of(rng)
    columns, bins, weight, scores, targets = partition.sample({0: 300})
    assert (columns.shape, bins.shape, scores.shape, targets.shape) == ((4, 300), (4, 300), (2, 300), (300,))
    assert (weight > 0).all()
    n_rows, _ = partition.n_rows_and_totals()
    known = {(*row, *each) for row, each in zip(state.columns[:, :n_rows].T, state.bins[:, :n_rows].T, strict=True)}
    assert {(*row, *each) for row, each in zip(columns.T, bins.T, strict=True)} <= known


def test_rows_are_kept_once_and_come_back_in_their_order(rng):
    """A bag takes the columns; the next one, and a copy that travels, have them as they were."""
    X = rng.standard_normal((5000, 4))
    partition, _ = partition_of(rng, X=X)
    for again in (partition, pickle.loads(pickle.dumps(partition))):
        again.begin(1, 8, (3, 5, 2), False)
        assert not again._columns.values.size
        columns = again._all_columns()
        np.testing.assert_array_equal(columns.values, X.T.astype(np.float32))
        np.testing.assert_array_equal(columns.bins, find_bins(columns.values, columns.binned, columns.edges))


@pytest.mark.parametrize(("params", "target", "message"), [
    ({"loss": "poisson"}, "one", "y of partition [0-9] must be >= 0 for loss='poisson'"),
    ({"loss": "quantile", "quantile": (0.1, 0.9)}, "several", "y must be one target for several quantiles, got 2")])
def test_bad_targets_are_named(table, params, target, message):
    with pytest.raises(InvalidInputError, match=message):
        fitted(FourierBoostingRegressor, params, cut([0, 400, 900, N_ROWS], table["X"], table[target]))


def test_parameters_that_need_all_rows_are_refused(table):
    with pytest.raises(InvalidInputError, match="warm_start must be False where rows are in partitions, got True"):
        fitted(FourierBoostingClassifier, {"warm_start": True}, [(table["X"], table["two"])])


def checkers(n_rows, seed):
    """A chess board, which kernels learn and few rounds do not."""
    X = np.random.default_rng(seed).uniform(-2, 2, (n_rows, 2))
    return X, np.where(np.floor(X).sum(axis=1) % 2 == 0, "black", "white")


@pytest.mark.parametrize("kind", ["classes", "values"])
@pytest.mark.parametrize("n_regions", [1, 8])
def test_kernel_ridge_is_stacked_as_on_all_rows(rng, monkeypatch, kind, n_regions):
    """Where it gains, with the same bits whatever is lost, and it says as much of rows that bags hold out."""
    if n_regions > 1:
        monkeypatch.setattr(stacking, "MOST_ROWS", 300)
        monkeypatch.setattr(stacking, "LARGEST_REGION", 200)
    make = FourierBoostingClassifier if kind == "classes" else FourierBoostingRegressor
    (X, y), (others, of_others) = checkers(N_ROWS, 0), checkers(N_ROWS, 1)
    if kind == "values":
        y, of_others = (np.where(each == "black", 1.0, -1.0) for each in (y, of_others))
    pieces, weights = edges_of(N_ROWS, 4, rng), rng.uniform(0.5, 2, N_ROWS)
    params = {"kernel_ridge": "auto", "max_samples": 128}
    model = fitted(make, params, cut(pieces, X, y, weights))
    here = made(make, 25, params).fit(X, y, weights)
    alone = fitted(make, params | {"kernel_ridge": False}, cut(pieces, X, y, weights))
    assert model.kernel_ridge_report_.kept
    assert model.expansion_.kernels.n_regions == here.expansion_.kernels.n_regions == n_regions
    assert model.score(others, of_others) > alone.score(others, of_others) + 0.02
    assert model.score(others, of_others) == pytest.approx(here.score(others, of_others), abs=0.03)
    assert model.kernel_ridge_report_.loss_with == pytest.approx(here.kernel_ridge_report_.loss_with, rel=0.2)
    again = fitted(make, params, cut(pieces, X, y, weights), lost=range(2, 300, 7))
    assert dumps(again) == dumps(model)


def test_kernel_ridge_is_judged_by_rows_held_out():
    X, y = checkers(N_ROWS, 0)
    sets = [cut([0, 100, 300], X[1200:], y[1200:])]
    model = fitted(FourierBoostingClassifier, {"kernel_ridge": "auto"}, cut([0, 500, 1200], X[:1200], y[:1200]), sets)
    assert model.kernel_ridge_report_.kept
    assert model.kernel_ridge_report_.n_rows == 300


def test_copies_in_several_partitions_do_not_speak_for_kernel_ridge(rng):
    """A minority that was repeated: a row that is held out is no copy of one that is learned from."""
    X, y = rng.standard_normal((900, 6)), rng.random(900) < 0.2
    X, y = np.concatenate([X, X[y], X[y], X[y]]), np.concatenate([y, *[y[y]] * 3])
    order = rng.permutation(len(X))
    model = fitted(FourierBoostingClassifier, {"kernel_ridge": "auto"}, cut([0, 500, len(X)], X[order], y[order]))
    assert not model.kernel_ridge_report_.kept


def test_kernel_ridge_needs_memory_for_all_rows(table):
    pieces = cut([0, 700, N_ROWS], table["X"], table["two"])
    left_out, off = (fitted(FourierBoostingClassifier, {"kernel_ridge": kernel}, pieces, n_rounds=5, memory=1e5)
                     for kernel in ("auto", False))
    assert left_out.kernel_ridge_report_.reason == (
        "not used: the rows of all partitions do not fit in the memory of the client")
    assert off.kernel_ridge_report_.reason == "not used: kernel_ridge=False"
    assert same(left_out, off)
    with pytest.raises(InvalidInputError, match=r"1500 rows of 3 columns take 0\.00033 GB, and it has 0\.0001"):
        fitted(FourierBoostingClassifier, {"kernel_ridge": True}, pieces, n_rounds=5, memory=1e5)


@pytest.mark.parametrize("kind", ["two classes", "squares", "quantiles", "counts"])
def test_intervals_and_sets_are_of_rows_that_bags_hold_out(table, kind, rng):
    """As those of a model of the same rows here: of one size, and they contain what they promise."""
    make, target, params = FITS[kind]
    X, y = table["X"], table[target]
    if kind == "squares":  # without noise, widths would be what is left to learn after some rounds
        y = y + 0.3 * rng.standard_normal(N_ROWS)
    model = fitted(make, params, cut([0, 300, 1100, N_ROWS], X, y), n_rounds=60)
    here = made(make, 60, params).fit(X, y)
    if kind == "two classes":
        sets, sets_here = (each.predict_set(X, 0.9).sum(axis=1).mean() for each in (model, here))
        assert sets == pytest.approx(sets_here, rel=0.05)
        loss, loss_here = (each._out_of_fold["figures"]["log_loss"] for each in (model, here))
        assert loss == pytest.approx(loss_here, rel=0.2)
        return
    ends, ends_here = (each.predict_interval(X, 0.8) for each in (model, here))
    widths, widths_here = (np.diff(each, axis=1).mean() for each in (ends, ends_here))
    assert widths == pytest.approx(widths_here, rel=0.1)
    assert np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])) > 0.75
