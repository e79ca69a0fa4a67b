"""What every registered family keeps, whatever it learns.  A family joins by registering itself."""

import copy
import json
import pathlib
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rffkern
from rffkern import load, save
from rffkern._estimator.base import FAMILIES, Regressor

DATA = pathlib.Path(__file__).parent.parent / "data"

# Version of the format in which a family's first files were written, where that is not the last.
FIRST_VERSION = {"gbrff2": 1, **dict.fromkeys(
    ["gbrff", "gbrff1", "gbrff_regressor", "pbrff", "pbrff_transformer", "rffnet", "rffnet_regressor", "sparse_kernel",
     "sparse_kernel_regressor"], 2)}

X = np.random.default_rng(7).standard_normal((400, 6)) * [1, 10, 1e-3, 1, 1, 1] + [0, 1900, 0, 0, 0, 0]
Y = np.where(np.sin(X[:, 0]) + X[:, 3] > 0, "up", "down")


TARGET = np.sin(X[:, 0]) + 0.5 * X[:, 3]


def answers(model, rows):
    """What a family gives for rows: scores, predictions or features."""
    name = next(name for name in ("decision_function", "predict", "transform") if hasattr(model, name))
    return getattr(model, name)(rows)


def target_of(family):
    return TARGET if issubclass(family, Regressor) else Y


def fit(family, rows=X, target=None, weight=None, **params):
    return family(**{"random_state": 0} | params).fit(rows, target_of(family) if target is None else target, weight)


def is_boosted(family):
    return "n_estimators" in family._param_names()


@pytest.fixture(params=sorted(FAMILIES))
def family(request):
    return FAMILIES[request.param]


@pytest.fixture
def fitted(family):
    return fit(family)


def same_state(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a.expansion_.arrays().values(), b.expansion_.arrays().values(),
                                                    strict=True))


def test_learns(family, fitted):
    if hasattr(family, "transform"):
        features = np.column_stack([fitted.transform(X), np.ones(len(X))])
        signs = np.where(Y == "up", 1, -1)
        assert np.mean(np.sign(features @ np.linalg.lstsq(features, signs, rcond=1e-6)[0]) == signs) > 0.9
    else:
        assert fitted.score(X, target_of(family)) > 0.9


def test_same_bits_for_any_number_of_threads(family):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((70_000, 12))
    target = rows[:, 0] * rows[:, 1]
    target = target if issubclass(family, Regressor) else target > 0
    small = {"n_estimators": 15, "n_landmarks": 15, "n_components": 9}
    if "max_epochs" in family._param_names():
        small |= {"n_components": 99, "max_epochs": 2, "batch_size": 600}
    small = {name: value for name, value in small.items() if name in family._param_names()}
    models = [fit(family, rows, target, n_threads=n, **small) for n in (1, 2, 3)]
    assert same_state(models[0], models[1])
    assert same_state(models[0], models[2])
    found = [answers(model, rows) for model in models]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_same_seed_same_state(family, fitted):
    assert same_state(fitted, fit(family))
    assert same_state(fitted, fit(family, random_state=np.random.default_rng(0)))
    assert not same_state(fitted, fit(family, random_state=1))


def test_refit_forgets(family, fitted):
    other = fit(family, X[:, :3])
    assert same_state(fitted, other.fit(X, target_of(family)))
    assert other.n_features_in_ == 6


def test_inputs_unmodified_and_read_only_accepted(family):
    rows, target, weight = X.copy(), target_of(family).copy(), np.linspace(0.5, 1.5, 400)
    for array in (rows, target, weight):
        array.flags.writeable = False
    held_out = {"eval_set": (rows, target)} if "verbose" in family._param_names() else {}
    model = family(random_state=0).fit(rows, target, weight, **held_out)
    answers(model, rows)
    for method in ("predict", "predict_proba"):
        getattr(model, method, lambda rows: None)(rows)
    np.testing.assert_array_equal(rows, X)


@pytest.mark.parametrize("form", [
    lambda a: np.asfortranarray(a), lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: a[:, ::-1][:, ::-1],
    lambda a: a.tolist(), lambda a: a.astype(">f8"), lambda a: a.astype(object), lambda a: a.astype(np.longdouble),
], ids=["fortran", "strided", "reversed", "list", "big-endian", "object", "longdouble"])
def test_layout_does_not_matter(family, fitted, form):
    assert same_state(fitted, fit(family, form(X), target_of(family).tolist()))
    np.testing.assert_array_equal(answers(fitted, form(X)), answers(fitted, X))


def test_float32_rows_are_kept(family):
    rows = X.astype(np.float32)
    model = fit(family, rows)
    np.testing.assert_allclose(answers(model, rows), answers(model, rows.astype(np.float64)), atol=1e-3)


def test_memory_mapped_rows(family, fitted, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert same_state(fitted, fit(family, mapped))


def test_save_and_load(fitted, tmp_path):
    path = tmp_path / "model.anything"
    save(fitted, path)
    assert [item.name for item in tmp_path.iterdir()] == ["model.anything"]
    loaded = load(path)
    assert type(loaded) is type(fitted)
    assert same_state(fitted, loaded)
    for method in ("decision_function", "predict", "predict_proba", "transform"):
        if hasattr(fitted, method):
            ours, theirs = getattr(fitted, method)(X), getattr(loaded, method)(X)
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype
    assert loaded.get_params() == fitted.get_params()
    for name in fitted.fitted_curves:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_many_threads_share_one_model(fitted):
    expected = answers(fitted, X)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: answers(fitted, X[i % 50 : i % 50 + 50]), range(400)))
    assert all(np.array_equal(answer, expected[i % 50 : i % 50 + 50]) for i, answer in enumerate(found))


def test_the_state_is_immutable(fitted):
    with pytest.raises(AttributeError, match="immutable"):
        fitted.expansion_.intercept = np.zeros(1)
    with pytest.raises(AttributeError, match="immutable"):
        del fitted.expansion_.intercept
    for array in fitted.expansion_.arrays().values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_parameters(family):
    model = family(random_state=3)
    params = model.get_params()
    assert params["random_state"] == 3
    assert family(**params).get_params() == params
    assert model.set_params(random_state=4) is model
    assert repr(model) == f"{family.__name__}(random_state=4)"
    assert repr(family()) == f"{family.__name__}()"


def test_copies(fitted):
    for copied in (copy.copy(fitted), copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(answers(copied, X), answers(fitted, X))


def test_scoring_holds_no_references(fitted):
    """No leak: reference counts of what goes in are what they were."""
    rows = X[:10].copy()
    answers(fitted, rows)
    before = sys.getrefcount(rows), sys.getrefcount(fitted.expansion_.intercept)
    for _ in range(100):
        answers(fitted, rows)
    assert (sys.getrefcount(rows), sys.getrefcount(fitted.expansion_.intercept)) == before


class Frame:
    """The little of a data frame that is looked at."""

    def __init__(self, array, columns):
        self.array, self.columns = array, columns

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)


NAMES = [f"f{j}" for j in range(6)]


def test_column_names(family, fitted, tmp_path):
    model = fit(family, Frame(X, NAMES))
    assert model.feature_names_in_.tolist() == NAMES
    assert not hasattr(fitted, "feature_names_in_")
    np.testing.assert_array_equal(answers(model, Frame(X, NAMES)), answers(model, X))
    with pytest.raises(ValueError, match="must be in the same order"):
        answers(model, Frame(X, NAMES[::-1]))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- other\n.*now missing:\n- f5"):
        answers(model, Frame(X, [*NAMES[:5], "other"]))
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").feature_names_in_.tolist() == NAMES
    model.fit(X, target_of(family))
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames(family, fitted, library):
    module = pytest.importorskip(library)
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    model = fit(family, frame)
    assert same_state(model, fitted)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(answers(model, frame), answers(fitted, X))


def test_frozen_files_load(family):
    """Files written by every past format version give the predictions they gave then."""
    folders = sorted(folder for folder in DATA.iterdir() if folder.is_dir())
    assert [folder.name for folder in folders] == [str(n) for n in range(1, rffkern.serialize.FORMAT_VERSION + 1)]
    for folder in folders:
        if int(folder.name) < FIRST_VERSION.get(family.family, rffkern.serialize.FORMAT_VERSION):
            continue
        expected = json.loads((folder / f"{family.family}.json").read_text())
        model = load(folder / f"{family.family}.npz")
        rows = np.array(expected["rows"])
        np.testing.assert_allclose(np.ravel(answers(model, rows)), expected["answers"], rtol=0, atol=1e-12)
        if hasattr(model, "classes_"):
            assert model.predict(rows).tolist() == expected["labels"]


def test_rows_in_blocks(family, fitted):
    blocks = rffkern.RowBlocks([X[:150], X[150:]])
    assert same_state(fitted, fit(family, blocks))
    if hasattr(family, "predict"):
        np.testing.assert_array_equal(fitted.predict(blocks), fitted.predict(X))


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_columns_of_any_unit(family, fitted, unit):
    model = fit(family, X * np.array([unit, 1, 1, 1, 1, 1]))
    np.testing.assert_allclose(answers(model, X * np.array([unit, 1, 1, 1, 1, 1])), answers(fitted, X), atol=2e-2)


@pytest.mark.parametrize("rows", [np.zeros((6, 2)), np.ones((2, 3)), np.eye(3)[[0, 1, 2, 0]]],
                         ids=["constant", "two equal rows", "wide"])
def test_degenerate_rows(family, rows):
    """No nan, no hang, from rows that tell nothing or little."""
    target = np.arange(len(rows)) % 2
    model = fit(family, rows, target)
    assert np.isfinite(answers(model, rows)).all()


def test_huge_weights_and_tiny_ones(family):
    weight = np.ones(400)
    weight[:10] = 1e200
    weight[10:20] = 1e-200
    assert np.isfinite(answers(fit(family, weight=weight), X)).all()


def test_rows_without_weight_count_for_nothing(family):
    weight = np.ones(400)
    weight[::3] = 0
    spoiled = X.copy()
    spoiled[::3] = 1e10
    assert same_state(fit(family, spoiled, weight=weight), fit(family, X[weight > 0], target_of(family)[weight > 0]))


def test_not_fitted(family):
    with pytest.raises(rffkern.NotFittedError, match=family.__name__):
        answers(family(), X)
    with pytest.raises(rffkern.NotFittedError, match=family.__name__):
        save(family(), "nowhere")


@pytest.fixture(params=sorted(family for family, cls in FAMILIES.items() if is_boosted(cls)))
def boosted(request):
    return FAMILIES[request.param]


def test_staged_answers_end_in_the_answer(boosted):
    fitted = fit(boosted)
    staged = getattr(fitted, "staged_decision_function", None) or fitted.staged_predict
    stages = list(staged(X))
    assert len(stages) == fitted.n_estimators_
    # Weights of basis vectors may be large and cancel: both sums are then known to the rounding of their terms.
    rounding = np.finfo(float).eps * np.abs(getattr(fitted.expansion_, "weights", 0.0)).sum()
    np.testing.assert_allclose(stages[-1], answers(fitted, X), atol=max(1e-9, 2 * rounding))
    with pytest.raises(rffkern.NotFittedError):
        next(iter(getattr(boosted(), staged.__name__)(X)))


def test_early_stopping_keeps_the_best_round(boosted):
    target = target_of(boosted)
    model = boosted(400, early_stopping_rounds=5, random_state=0)
    model.fit(X[:200, :2], target[:200], eval_set=(X[200:, :2], target[200:]))
    assert model.n_estimators_ == model.eval_loss_.argmin() < len(model.eval_loss_) - 1
    seen = []
    model.fit(X, target, callback=lambda info: seen.append(info.train_loss) or len(seen) == 3)
    assert model.n_estimators_ == 3
    np.testing.assert_array_equal(model.train_loss_[1:], seen)
