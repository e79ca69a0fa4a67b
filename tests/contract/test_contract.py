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
from rffkern._base import FAMILIES

DATA = pathlib.Path(__file__).parent.parent / "data"

X = np.random.default_rng(7).standard_normal((400, 6)) * [1, 10, 1e-3, 1, 1, 1] + [0, 1900, 0, 0, 0, 0]
Y = np.where(np.sin(X[:, 0]) + X[:, 3] > 0, "up", "down")


@pytest.fixture(params=sorted(FAMILIES))
def family(request):
    return FAMILIES[request.param]


@pytest.fixture
def fitted(family):
    return family(random_state=0).fit(X, Y)


def same_state(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a.expansion_.arrays().values(), b.expansion_.arrays().values(),
                                                    strict=True))


def test_learns(fitted):
    assert fitted.score(X, Y) > 0.9


def test_same_bits_for_any_number_of_threads(family):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((70_000, 12))
    labels = rows[:, 0] * rows[:, 1] > 0
    models = [family(random_state=0, n_threads=n).fit(rows, labels) for n in (1, 2, 3)]
    assert same_state(models[0], models[1])
    assert same_state(models[0], models[2])
    scores = [model.decision_function(rows) for model in models]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def test_same_seed_same_state(family, fitted):
    assert same_state(fitted, family(random_state=0).fit(X, Y))
    assert same_state(fitted, family(random_state=np.random.default_rng(0)).fit(X, Y))
    assert not same_state(fitted, family(random_state=1).fit(X, Y))


def test_refit_forgets(family, fitted):
    other = family(random_state=0).fit(X[:, :3], Y).fit(X, Y)
    assert same_state(fitted, other)
    assert other.n_features_in_ == 6


def test_inputs_unmodified_and_read_only_accepted(family):
    rows, labels, weight = X.copy(), Y.copy(), np.linspace(0.5, 1.5, 400)
    for array in (rows, labels, weight):
        array.flags.writeable = False
    model = family(random_state=0).fit(rows, labels, weight, eval_set=(rows, labels))
    model.predict(rows)
    model.predict_proba(rows)
    np.testing.assert_array_equal(rows, X)


@pytest.mark.parametrize("form", [
    lambda a: np.asfortranarray(a), lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: a[:, ::-1][:, ::-1],
    lambda a: a.tolist(), lambda a: a.astype(">f8"), lambda a: a.astype(object), lambda a: a.astype(np.longdouble),
], ids=["fortran", "strided", "reversed", "list", "big-endian", "object", "longdouble"])
def test_layout_does_not_matter(family, fitted, form):
    assert same_state(fitted, family(random_state=0).fit(form(X), Y.tolist()))
    np.testing.assert_array_equal(fitted.decision_function(form(X)), fitted.decision_function(X))


def test_float32_rows_are_kept(family):
    rows = X.astype(np.float32)
    model = family(random_state=0).fit(rows, Y)
    np.testing.assert_allclose(model.decision_function(rows), model.decision_function(rows.astype(np.float64)),
                               atol=1e-3)


def test_memory_mapped_rows(family, fitted, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert same_state(fitted, family(random_state=0).fit(mapped, Y))


def test_save_and_load(fitted, tmp_path):
    path = tmp_path / "model.anything"
    save(fitted, path)
    assert [item.name for item in tmp_path.iterdir()] == ["model.anything"]
    loaded = load(path)
    assert type(loaded) is type(fitted)
    assert same_state(fitted, loaded)
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.predict(X).dtype == fitted.predict(X).dtype
    assert loaded.get_params() == fitted.get_params()
    for name in fitted.fitted_curves:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_many_threads_share_one_model(fitted):
    expected = fitted.decision_function(X)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: fitted.decision_function(X[i % 50 : i % 50 + 50]), range(400)))
    assert all(np.array_equal(answer, expected[i % 50 : i % 50 + 50]) for i, answer in enumerate(answers))


def test_the_state_is_immutable(fitted):
    with pytest.raises(AttributeError, match="immutable"):
        fitted.expansion_.omegas = np.zeros((1, 6))
    with pytest.raises(AttributeError, match="immutable"):
        del fitted.expansion_.omegas
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
        np.testing.assert_array_equal(copied.decision_function(X), fitted.decision_function(X))


def test_scoring_holds_no_references(fitted):
    """No leak: reference counts of what goes in are what they were."""
    rows = X[:10].copy()
    fitted.decision_function(rows)
    before = sys.getrefcount(rows), sys.getrefcount(fitted.expansion_.omegas)
    for _ in range(100):
        fitted.decision_function(rows)
    assert (sys.getrefcount(rows), sys.getrefcount(fitted.expansion_.omegas)) == before


class Frame:
    """The little of a data frame that is looked at."""

    def __init__(self, array, columns):
        self.array, self.columns = array, columns

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)


NAMES = [f"f{j}" for j in range(6)]


def test_column_names(family, fitted, tmp_path):
    model = family(random_state=0).fit(Frame(X, NAMES), Y)
    assert model.feature_names_in_.tolist() == NAMES
    assert not hasattr(fitted, "feature_names_in_")
    np.testing.assert_array_equal(model.decision_function(Frame(X, NAMES)), model.decision_function(X))
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(Frame(X, NAMES[::-1]))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- other\n.*now missing:\n- f5"):
        model.predict(Frame(X, [*NAMES[:5], "other"]))
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").feature_names_in_.tolist() == NAMES
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames(family, fitted, library):
    module = pytest.importorskip(library)
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    model = family(random_state=0).fit(frame, Y)
    assert same_state(model, fitted)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(X))


def test_frozen_files_load(family):
    """Files written by every past format version give the predictions they gave then."""
    folders = sorted(folder for folder in DATA.iterdir() if folder.is_dir())
    assert [folder.name for folder in folders] == [str(n) for n in range(1, rffkern.serialize.FORMAT_VERSION + 1)]
    for folder in folders:
        expected = json.loads((folder / f"{family.family}.json").read_text())
        model = load(folder / f"{family.family}.npz")
        rows = np.array(expected["rows"])
        np.testing.assert_allclose(np.ravel(model.decision_function(rows)), expected["scores"], rtol=0, atol=1e-12)
        assert model.predict(rows).tolist() == expected["labels"]
