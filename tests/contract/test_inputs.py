"""Rows, targets and weights in every form, and of every kind of value."""


import numpy as np
import pytest
from helpers.families import NAMES, Frame, X, answers, fit, quick, same_state, target_of

import rffkern


def test_inputs_unmodified_and_read_only_accepted(family):
    rows, target, weight = X.copy(), target_of(family).copy(), np.linspace(0.5, 1.5, 400)
    for array in (rows, target, weight):
        array.flags.writeable = False
    held_out = {"eval_set": (rows, target)} if "early_stopping_rounds" in family._param_names() else {}
    model = family(random_state=0, **quick(family)).fit(rows, target, weight, **held_out)
    answers(model, rows)
    for method in ("predict", "predict_proba", "predict_log_proba"):
        getattr(model, method, lambda rows: None)(rows)
    np.testing.assert_array_equal(rows, X)


@pytest.mark.slow
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


@pytest.mark.slow
def test_memory_mapped_rows(family, fitted, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert same_state(fitted, fit(family, mapped))


@pytest.mark.slow
def test_column_names(family, fitted, tmp_path):
    model = fit(family, Frame(X, NAMES))
    assert model.feature_names_in_.tolist() == NAMES
    assert not hasattr(fitted, "feature_names_in_")
    for rows in (X, X[:1]):
        np.testing.assert_array_equal(answers(model, Frame(rows, NAMES)), answers(model, rows))
        with pytest.raises(ValueError, match="must be in the same order"):
            answers(model, Frame(rows, NAMES[::-1]))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- other\n.*now missing:\n- f5"):
        answers(model, Frame(X, [*NAMES[:5], "other"]))
    rffkern.save(model, tmp_path / "m")
    assert rffkern.load(tmp_path / "m").feature_names_in_.tolist() == NAMES
    model.fit(X, target_of(family))
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames(family, fitted, library):
    module = pytest.importorskip(library)
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    model = fit(family, frame)
    assert same_state(model, fitted)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(answers(model, frame), answers(fitted, X))


@pytest.mark.slow
def test_rows_in_blocks(family, fitted):
    blocks = rffkern.RowBlocks([X[:150], X[150:]])
    assert same_state(fitted, fit(family, blocks))
    if hasattr(family, "predict"):
        np.testing.assert_array_equal(fitted.predict(blocks), fitted.predict(X))


@pytest.mark.slow
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


def test_all_answers_of_one_scoring(predictor, monkeypatch):
    """As `rffkern predict --proba --interval` asks for them."""
    fitted = fit(predictor).conformalize(X, target_of(predictor))
    is_class = hasattr(fitted, "predict_proba")
    predicted, covering = fitted.predict(X), (fitted.predict_set if is_class else fitted.predict_interval)(X, 0.8)
    probabilities = fitted.predict_proba(X) if is_class else None
    scored, raw_scores = [], type(fitted)._raw_scores

    def counting(self, rows):
        scored.append(rows)
        return raw_scores(self, rows)

    monkeypatch.setattr(type(fitted), "_raw_scores", counting)
    both = fitted._answers(X, True, 0.8)
    np.testing.assert_array_equal(both[0], predicted)
    np.testing.assert_array_equal(both[1], probabilities)
    np.testing.assert_array_equal(both[2], covering)
    assert len(scored) == 1


@pytest.mark.parametrize("unit", [1.0, 1e-160])
def test_under_errors_of_numpy_that_raise(family, unit):
    """Programs around may have called `np.seterr(all="raise")`."""
    rows = X * np.where(np.arange(X.shape[1]) == 2, unit, 1.0)
    with np.errstate(all="raise"):
        model = fit(family, rows)
        model = rffkern.loads(rffkern.dumps(model))
        answers(model, rows)
        if hasattr(model, "explain"):
            model.explain(rows[:3], background=rows[::9])
        if family.__name__.startswith(("Fourier", "KernelRidge", "RFFNet")):
            rffkern.shrink(model, rows, target_of(family), max_loss=0.1)
        if hasattr(model, "classes_"):
            model.what_if(rows[0], next(label for label in model.classes_ if label != model.predict(rows[:1])[0]))


def test_weights_near_0_under_errors_of_numpy_that_raise(family):
    rows = slice(120)
    weight = np.exp(30 * np.random.default_rng(0).standard_normal(120))
    params = {} if family.__name__.startswith("KernelRidge") else quick(family)  # which chooses length scales
    with np.errstate(all="raise"):
        model = family(random_state=0, **params).fit(X[rows], target_of(family)[rows], weight)
    assert same_state(model, family(random_state=0, **params).fit(X[rows], target_of(family)[rows], weight))
