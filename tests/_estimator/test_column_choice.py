"""The choice of a column map by held-out rows."""

import numpy as np
import pytest
from helpers.families import same_state

from rffkern import (
    ColumnMap,
    DataConversionWarning,
    GBRFF2Classifier,
    GBRFFRegressor,
    InvalidInputError,
    PBRFFTransformer,
    RFFNetClassifier,
    RFFNetRegressor,
    RowBlocks,
    SparseKernelRegressor,
)
from rffkern._estimator import columns as column_choice
from rffkern._estimator import monitor
from rffkern._estimator.columns import _gain
from rffkern._rows.groups import Division

RNG = np.random.default_rng(3)
NORMAL = RNG.standard_normal((700, 4))
SKEWED = np.exp(4 * NORMAL)  # whose extreme rows leave the others no spread
LABELS = np.where(np.sin(2 * NORMAL[:, 0]) + NORMAL[:, 1] > 0, "up", "down")
TARGET = np.sin(2 * NORMAL[:, 0]) + NORMAL[:, 1]


def boosted(**params):
    return GBRFF2Classifier(**{"n_estimators": 25, "random_state": 0, "columns": "search"} | params)


def forms(model):
    return None if model.column_map_ is None else model.column_map_.numeric


def test_a_map_that_helps_is_chosen():
    model = boosted().fit(SKEWED[:500], LABELS[:500])
    assert forms(model) is not None
    assert model.columns == "search"
    given = boosted(columns=ColumnMap(forms(model))).fit(SKEWED[:500], LABELS[:500])
    assert same_state(model, given)
    plain = boosted(columns=None).fit(SKEWED[:500], LABELS[:500])
    assert model.score(SKEWED[500:], LABELS[500:]) > plain.score(SKEWED[500:], LABELS[500:]) + 0.05


def test_columns_that_are_best_as_they_are_stay():
    model = boosted().fit(NORMAL, LABELS)
    assert model.column_map_ is None
    assert same_state(model, boosted(columns=None).fit(NORMAL, LABELS))
    assert not hasattr(boosted(columns=None).fit(NORMAL, LABELS), "column_map_")


def test_a_gain_of_a_ten_thousandth_of_the_variance_is_no_reason(monkeypatch):
    """Nor one of less than 1.5 standard errors."""
    model = GBRFFRegressor(2, n_components=2, random_state=0)
    gains = iter([3e-5] * 4 + [2e-4, 3e-4])  # after each of two parts, and at the end
    monkeypatch.setattr(column_choice, "_folds", lambda y, has_labels, division: np.arange(len(y)) % 2)
    monkeypatch.setattr(column_choice, "_gain", lambda *_: (next(gains), 1e-5))
    rows = column_choice._sample_rows(NORMAL, TARGET, None, False, Division())
    found = [None, ColumnMap(("standard",)), ColumnMap(("rank",))]
    assert column_choice._best(model, found, rows) is found[2]
    gains = iter([3e-5] * 6)
    assert column_choice._best(model, found, rows) is found[0]
    monkeypatch.setattr(column_choice, "_gain", lambda *_: (0.14, 0.1))
    assert column_choice._best(model, found, rows) is found[0]


def test_maps_are_compared_as_rows_are_held_out():
    """On the last rows where rows are in order of time, and on whole groups."""
    codes = np.arange(90) % 3
    folds = column_choice._folds(codes, True, Division("last"))
    assert folds.tolist() == [-1] * 72 + [0] * 18
    groups = np.repeat(np.arange(9), 10)
    folds = column_choice._folds(codes, True, Division(groups=groups))
    assert len({*zip(groups.tolist(), folds.tolist(), strict=True)}) == 9
    assert {*folds.tolist()} == {0, 1, 2, 3, 4}
    rows = column_choice._sample_rows(np.arange(90.0)[:, None], codes, None, True, Division(groups=groups))
    assert rows.taken(np.arange(90) >= 80).division.groups.tolist() == [8] * 10


def test_chance_is_no_reason():
    """Where labels say nothing, hardly any map is better by more than its noise, whatever the rows."""
    chosen = [forms(boosted(n_estimators=5).fit(SKEWED[k * 140 : k * 140 + 140, :2], RNG.permutation(LABELS)[:140]))
              for k in range(5)]
    assert chosen.count(None) >= 3


def test_other_tables_always_get_a_map(monkeypatch):
    """The plainest one, unless another is better."""
    monkeypatch.setattr(column_choice, "_STANDARD_ERRORS", 1e9)
    gaps = np.where(RNG.random(NORMAL.shape) < 0.1, np.nan, NORMAL)
    assert forms(boosted().fit(gaps, LABELS)) == ("standard",)
    assert forms(boosted(standardize=False).fit(gaps, LABELS)) == ("raw",)
    words = {"word": np.where(NORMAL[:, 0] > 0, "a", "b")}
    assert forms(boosted().fit(words, LABELS)) == ("standard",)
    dates = {"day": np.datetime64("2024-01-01", "s") + np.round(SKEWED[:, 0] * 1e4).astype("m8[s]")}
    assert forms(boosted().fit(dates, NORMAL[:, 0] > 0)) is not None


def test_few_rows_are_no_reason():
    assert boosted().fit(SKEWED[:50], LABELS[:50]).column_map_ is None
    assert forms(boosted().fit({"a": SKEWED[:50, 0]}, LABELS[:50])) == ("standard",)


def test_the_choice_does_not_draw():
    """A Generator is left as it is for the fit."""
    chosen = boosted(random_state=np.random.default_rng(5)).fit(SKEWED, LABELS)
    given = boosted(random_state=np.random.default_rng(5), columns=ColumnMap(forms(chosen))).fit(SKEWED, LABELS)
    assert same_state(chosen, given)


def test_held_out_rows_have_no_part_in_a_map(monkeypatch):
    """Nor in a trial: the rows that it is judged on are others than those that it learns from."""
    learned, judged = [], []
    fit_copy, mapped = column_choice.fit_copy, ColumnMap._transform

    def watched_fit(column_map, X, y, sample_weight, has_labels, division):
        learned.append(X.columns[0].values)
        return fit_copy(column_map, X, y, sample_weight, has_labels, division)

    def recorded_transform(self, X, owner):
        judged.append(X.columns[0].values)
        return mapped(self, X, owner)

    monkeypatch.setattr(column_choice, "fit_copy", watched_fit)
    monkeypatch.setattr(ColumnMap, "_transform", recorded_transform)
    column_choice.searched_map(boosted(), SKEWED, LABELS, None, Division())
    assert len(learned) == len(judged) == 10
    for one, other in zip(learned, judged, strict=True):
        assert len(one) == 560
        assert sorted([*one, *other]) == sorted(SKEWED[:, 0])
    assert len({*judged[0]} & {*judged[-1]}) == 0  # another part of the rows


def test_many_rows_are_sampled_over_all_of_them(monkeypatch, tmp_path):
    """Also where they are sorted by class, and the same ones of blocks and files."""
    monkeypatch.setattr(column_choice, "_MOST_ROWS", 300)
    order = np.argsort(LABELS, kind="stable")
    model = boosted().fit(SKEWED[order], LABELS[order])
    assert forms(model) is not None
    blocks = RowBlocks([SKEWED[order][:100], SKEWED[order][100:]])
    assert same_state(boosted().fit(blocks, LABELS[order]), model)
    np.save(tmp_path / "x.npy", SKEWED[order])
    assert same_state(boosted().fit(np.load(tmp_path / "x.npy", mmap_mode="r"), LABELS[order]), model)


def test_fewer_rows_of_many_columns(monkeypatch):
    monkeypatch.setattr(column_choice, "_MOST_NUMBERS", 400)
    found = column_choice._sample_rows(SKEWED, LABELS, None, True, Division())
    assert (len(found.y), found.table.n_rows) == (100, 100)
    assert {*found.table.columns[0].values} < {*SKEWED[:, 0]}
    assert {*found.table.columns[0].values[found.y == 1]} < {*SKEWED[LABELS == "up", 0]}


def test_weightless_rows_do_not_count():
    """Rows without any have no part in the choice."""
    weight = np.where(np.arange(700) % 7 == 0, 0.0, 2.0)
    odd = np.where(weight[:, None] > 0, NORMAL, 1e6 * SKEWED)
    alone = column_choice._sample_rows(NORMAL[weight > 0], LABELS[weight > 0], None, True, Division())
    found = column_choice._sample_rows(odd, LABELS, weight, True, Division())
    assert alone.sample_weight is None
    assert found.sample_weight.tolist() == [2.0] * 600
    np.testing.assert_array_equal(found.y, alone.y)
    for one, other in zip(found.table.columns, alone.table.columns, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


def test_gains_are_weighted_and_rows_and_parts_count_as_noise():
    first, other = np.array([3.0, 1, 1, 1]), np.array([0.0, 2, 2, 2])  # gains 3, -1, -1, -1
    one, two = np.zeros(4, dtype=int), np.array([0, 0, 1, 1])
    assert _gain(first, other, np.ones(4), one) == (0.0, pytest.approx(np.sqrt(12 / 16)))
    assert _gain(first, other, np.ones(4), two) == (0.0, pytest.approx(np.sqrt(12 / 16 + 1)))  # parts 1 and -1
    assert _gain(first, other, np.array([1.0, 3, 0, 0]), one) == (0.0, pytest.approx(np.sqrt(18 / 16)))
    other[2:] = np.nan  # not judged yet
    assert _gain(first, other, np.ones(4), two) == (1.0, pytest.approx(np.sqrt(2)))


def test_nobody_is_told_of_trials(capsys):
    rounds, heard = [], []
    with monitor.listening(lambda *step: heard.append(step)):
        boosted(n_estimators=7).fit(SKEWED, LABELS, callback=lambda info: rounds.append(info.n_rounds))
    assert rounds == list(range(1, 8))
    assert {step[0] for step in heard} == {"column maps on validation rows"}
    assert capsys.readouterr().err == ""
    boosted(n_estimators=7, verbose=7).fit(SKEWED, LABELS)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines].count("round") == 1


class Telling(GBRFF2Classifier):
    """Tells of a step in each fit."""

    def fit(self, *arguments, **named):
        monitor.Steps("a fit", 1).step()
        return super().fit(*arguments, **named)


def test_steps_of_trials_are_not_told():
    heard = []
    with monitor.listening(lambda work, *_: heard.append(work)):
        model = Telling(5, columns="search", random_state=0).fit(SKEWED, LABELS)
    assert type(model._trial_copy(True)) is Telling
    assert heard == ["a fit"] + ["column maps on validation rows"] * (len(heard) - 1)


def test_several_targets_and_other_losses():
    both = np.column_stack([TARGET, 1e200 * TARGET])
    model = GBRFFRegressor(20, n_components=20, columns="search", random_state=0).fit(SKEWED, both)
    assert forms(model) is not None
    quantile = RFFNetRegressor(50, loss="quantile", quantile=0.9, columns="search", max_epochs=5, random_state=0)
    assert forms(quantile.fit(SKEWED, TARGET)) is not None
    residuals = np.array([[-2.0, 0.5]])
    quantile.expansion_ = None
    quantile._raw_scores = lambda X: -X
    assert quantile._losses_of_rows(residuals, [[0.0, 0.0]]).tolist() == [pytest.approx((0.1 * 2 + 0.9 * 0.5) / 2)]
    quantile.set_params(loss="huber", delta=1.0)
    assert quantile._losses_of_rows(residuals, [[0.0, 0.0]]).tolist() == [pytest.approx((3 + 0.25) / 2)]


def test_the_shape_of_one_target_does_not_matter():
    model = GBRFFRegressor(5, n_components=5, random_state=0).fit(NORMAL, TARGET)
    losses = model._losses_of_rows(NORMAL, TARGET)
    assert losses.shape == (700,)
    np.testing.assert_array_equal(losses, model._losses_of_rows(NORMAL, TARGET[:, None]))
    np.testing.assert_allclose(losses, (model.predict(NORMAL) - TARGET) ** 2)


def test_features_are_judged_by_the_classifier_on_them():
    model = PBRFFTransformer(20, columns="search", random_state=0).fit(SKEWED, LABELS)
    assert forms(model) is not None
    assert model.transform(SKEWED).shape == (700, 20)


def test_trials_are_small():
    copied = RFFNetClassifier(max_epochs=1000, verbose=3, columns="search", random_state=np.random.default_rng())
    params = copied._trial_copy(False).get_params()
    assert (params["max_epochs"], params["n_restarts"], params["verbose"]) == (300, 1, 0)
    assert (params["columns"], params["standardize"], params["random_state"]) == (None, False, 0)
    assert RFFNetClassifier(max_epochs=5)._trial_copy(True).get_params()["max_epochs"] == 5


def test_maps_that_the_model_refuses_are_no_candidates():
    """A length scale for each column leaves no room for further ones."""
    model = SparseKernelRegressor(5, kernel={"length_scale": [1.0] * 4}, reg_lambda=0.1, columns="search",
                                  random_state=0)
    assert model.fit(SKEWED, TARGET).column_map_ is None
    with pytest.raises(InvalidInputError, match="length_scale"):
        model.set_params(kernel={"length_scale": [1.0] * 3}).fit(SKEWED, TARGET)


@pytest.mark.parametrize(("X", "y", "message"), [
    (SKEWED[:10], LABELS, "y must have one entry per row of X"),
    (SKEWED, LABELS[:10], "y must have one entry per row of X"),
    (SKEWED, ["up"] * 700, "y must hold at least two classes"),
    (SKEWED[:, 0], LABELS, "Expected 2D array"),
    (SKEWED[:0], LABELS[:0], "0 sample"),
    (np.where(SKEWED > 100, np.inf, SKEWED), LABELS, "must be finite"),
    (SKEWED, None, "requires y to be passed"),
])
def test_bad_tables_are_refused_by_the_fit(X, y, message):
    with pytest.raises(InvalidInputError, match=message):
        boosted().fit(X, y)


def test_no_rows_of_targets_are_refused_too():
    with pytest.raises(InvalidInputError, match="0 sample"):
        GBRFFRegressor(columns="search").fit(SKEWED[:0], TARGET[:0])


def test_rare_classes_do_not_disturb():
    with pytest.warns(DataConversionWarning, match="y has 70 classes") as found:
        assert boosted(n_estimators=2).fit(SKEWED[:70], np.arange(70)).column_map_ is None  # no class has two rows
    assert len(found) == 1
    labels = np.where(np.arange(700) < 2, "rare", LABELS)
    model = boosted().fit(SKEWED, labels)
    assert forms(model) is not None
    assert model.classes_.tolist() == ["down", "rare", "up"]


def test_training_goes_on_with_what_was_chosen_first():
    for first, expected in ((NORMAL, None), (SKEWED, "a map")):
        model = RFFNetClassifier(50, columns="search", random_state=0, max_epochs=5)
        chosen = model.partial_fit(first[:600], LABELS[:600]).column_map_
        assert (chosen is None) == (expected is None)
        assert model.partial_fit(first[600:], LABELS[600:]).column_map_ is chosen
        model.set_params(warm_start=True).fit(SKEWED, LABELS)
        assert model.column_map_ is chosen
