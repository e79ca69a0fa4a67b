"""Names of columns that are no text: they are kept as text and checked, and never dropped without a word."""

import numpy as np
import pytest

import rffkern
from rffkern import ColumnMap, FourierBoostingClassifier, GBRFF2Classifier, InvalidInputError

pandas = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.standard_normal(300), RNG.integers(0, 2, 300)])
Y = X[:, 1]
NAMES = {"mixed": ["a", 1], "tuples": [("g", "b"), ("g", "c")], "years": [2024, 2025], "other order": [1, 0],
         "a part": [3, 5], "floats": [0.5, 1.5], "dates": [*pandas.to_datetime(["2024-01-01", "2025-01-01"])],
         "truth values": [False, True]}
MODELS = {"boosting": FourierBoostingClassifier(5, n_bags=1, kernel_ridge=False, random_state=0),
          "no map": GBRFF2Classifier(5, random_state=0),
          "map": GBRFF2Classifier(5, columns=ColumnMap(), random_state=0)}


def frame(names):
    return pandas.DataFrame(X, columns=names)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names_are_kept_and_checked(names, model, tmp_path):
    table = frame(names)
    model.fit(table, Y)
    assert model.feature_names_in_.tolist() == [str(name) for name in table.columns]
    rffkern.save(model, tmp_path / "m.npz")
    turned = table.iloc[:, ::-1]
    for each in (model, rffkern.load(tmp_path / "m.npz")):
        assert each.score(table, Y) > 0.9
        if getattr(model, "column_map_", None) is None:
            with pytest.raises(InvalidInputError, match="must be in the same order"):
                each.predict(turned)
        else:
            np.testing.assert_array_equal(each.predict(turned), each.predict(table))
        if names in ([1, 0], [3, 5]):  # what has numbers for names is not taken by place
            if getattr(model, "column_map_", None) is not None and names == [1, 0]:
                np.testing.assert_array_equal(each.predict(turned.set_axis([0, 1], axis=1)), each.predict(table))
            else:
                with pytest.raises(InvalidInputError, match="feature names should match"):
                    each.predict(table.set_axis([0, 1], axis=1))


def test_a_multi_index():
    table = frame(pandas.MultiIndex.from_tuples([("g", "b"), ("g", "c")]))
    model = MODELS["boosting"].fit(table, Y)
    assert model.feature_names_in_.tolist() == ["('g', 'b')", "('g', 'c')"]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_numbers_from_0_are_no_names(model):
    model.fit(pandas.DataFrame(X), Y)
    assert not hasattr(model, "feature_names_in_")
    expected = model.predict(X)
    np.testing.assert_array_equal(model.predict(pandas.DataFrame(X)), expected)
    np.testing.assert_array_equal(model.predict(frame(["a", "b"])), expected)
    with pytest.raises(InvalidInputError, match="must be in the same order"):
        model.predict(pandas.DataFrame(X)[[1, 0]])


def test_keys_of_a_dict():
    model = MODELS["boosting"].fit({2024: X[:, 0], 2025: X[:, 1]}, Y)
    assert model.score({2025: X[:, 1], 2024: X[:, 0]}, Y) > 0.9
    with pytest.raises(InvalidInputError, match="yet now missing"):
        model.predict({2025: X[:, 1], 2026: X[:, 0]})
    model.fit({0: X[:, 0], 1: X[:, 1]}, Y)
    with pytest.raises(InvalidInputError, match="must be in the same order"):
        model.predict({1: X[:, 1], 0: X[:, 0]})


def test_one_text_of_two_names():
    with pytest.raises(InvalidInputError, match="distinct names, got '1' twice"):
        MODELS["boosting"].fit(frame(["1", 1]), Y)


def test_an_eval_set():
    model = GBRFF2Classifier(5, random_state=0)
    table = pandas.DataFrame(X)[[1, 0]]
    model.fit(table, Y, eval_set=(table, Y))
    for other in (table[[0, 1]], frame(["a", "b"])):
        with pytest.raises(InvalidInputError, match="feature names should match"):
            model.fit(table, Y, eval_set=(other, Y))
