"""Column maps of rows in partitions: that of one partition is the map here, and that of several nearly so."""

import itertools
import pickle

import numpy as np
import pytest
from helpers.partitions import LocalPartitions, cut

from rffkern import (
    ColumnMap,
    ColumnWarning,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    InvalidInputError,
)
from rffkern._column_map.column_map import fit_copy
from rffkern._column_map.sketch import N_ENTRIES, QuantileSketch
from rffkern._files.model_files import dumps, loads
from rffkern._training.distributed.columns import fit_map, map_training_rows
from rffkern._training.fourier_boosting.distributed import fit_partitions as fit_boosting
from rffkern._training.gbrff.partitions import fit_partitions as fit_gbrff

N_ROWS = 600
PARAMS = {"n_bags": 1, "kernel_ridge": False, "random_state": 0}


@pytest.fixture
def table(rng):
    """Numbers, numbers as text, words, many words, dates, a constant, and cells that are missing."""
    number = rng.standard_normal(N_ROWS)
    words = np.array(["red", "green", "blue", None], dtype=object)[rng.integers(4, size=N_ROWS)]
    many = np.array([f"n{k}" for k in range(60)])[rng.integers(60, size=N_ROWS)]
    dates = (np.datetime64("2024-01-01") + rng.integers(0, 700, N_ROWS)).astype(str)
    gaps = np.where(rng.random(N_ROWS) < 0.2, np.nan, 2 * number + 0.1 * rng.standard_normal(N_ROWS))
    columns = [number, words, many, dates, np.full(N_ROWS, "same"), gaps, [f"{value:.2f} %" for value in number]]
    X = np.empty((N_ROWS, len(columns)), dtype=object)
    for j, column in enumerate(columns):
        X[:, j] = column
    y = np.where(number + (words == "red") + 0.3 * rng.standard_normal(N_ROWS) > 0.4, "yes", "no")
    return X, y


def runner(pieces):
    """Partitions in this process; what travels is pickled."""
    def run(function, *arguments, which=None):
        chosen = range(len(pieces)) if which is None else which
        return [pickle.loads(pickle.dumps(function(k, *(*pieces[k], None)[:3], *arguments))) for k in chosen]

    return run


def fitted(model, pieces):
    with pytest.warns(match="not used"):
        column_map, folds = fit_map(model, runner(pieces))
    return column_map, [(map_training_rows(k, X, column_map._fitted_map(), folds), *others)
                        for k, (X, *others) in enumerate(pieces)]


@pytest.mark.parametrize("make", [FourierBoostingClassifier, FourierBoostingRegressor])
@pytest.mark.filterwarnings("ignore:columns that are not used")
def test_one_partition_has_the_map_here(table, rng, make):
    X, y = table
    y = y if make is FourierBoostingClassifier else rng.standard_normal((N_ROWS, 2))
    weights = rng.integers(0, 3, N_ROWS).astype(float)
    model = make(columns=ColumnMap(("standard", "rank"), max_levels=8))
    column_map, [(rows, *_)] = fitted(model, [(X, y, weights)])
    here, rows_here = fit_copy(model.columns, X, y, weights, model._has_labels)
    assert dumps(column_map) == dumps(here)
    assert np.array_equal(rows, rows_here)


def test_partitions_have_the_levels_and_moments_of_all_rows(table):
    X, y = table
    empty = X[:0], y[:0]
    column_map, rows = fitted(FourierBoostingClassifier(), [*cut([0, 100, 101, 380, N_ROWS], X, y), empty])
    assert rows[-1][0].shape == (0, len(column_map.sources_))
    here = ColumnMap(("standard", "rank"))
    with pytest.warns(match="not used"):
        here.fit(X, y)
    assert [row["form"] for row in column_map.describe()] == [row["form"] for row in here.describe()]
    assert column_map.get_feature_names_out().tolist() == here.get_feature_names_out().tolist()
    differences = column_map.transform(X) - here.transform(X)
    of_words = np.isin(column_map.forms_, ["target"])
    assert np.abs(differences[:, ~of_words]).max() < 1e-9
    assert np.abs(differences[:, of_words]).max() < 0.3  # their shrinkage is chosen by other folds


@pytest.mark.parametrize("model", [FourierBoostingClassifier(20, **PARAMS), GBRFF2Classifier(20, random_state=0)])
def test_a_model_is_trained_on_mapped_rows_and_answers_for_raw_ones(table, model):
    X, y = table
    pieces = cut([0, 250, N_ROWS], X, y)
    column_map, rows = fitted(model, pieces)
    fit = fit_boosting if isinstance(model, FourierBoostingClassifier) else fit_gbrff
    fit(model, LocalPartitions(rows), {}, None, column_map)
    assert model.score(X, y) > 0.85
    assert model.n_features_in_ == X.shape[1]
    assert model.feature_importances_.shape == (X.shape[1],)
    assert model.feature_importances_[4] == 0  # the constant
    assert np.array_equal(loads(dumps(model)).predict(X), model.predict(X))


def test_complete_numbers_stay_as_they_are_where_they_do_here(rng):
    X, y = rng.standard_normal((40, 2)), np.arange(40) % 2
    assert fit_map(GBRFF2Classifier(), runner(cut([0, 10, 40], X, y))) is None
    assert fit_map(FourierBoostingClassifier(columns=None), runner(cut([0, 10, 40], X, y))) is None
    X[30, 0] = np.nan
    assert fit_map(GBRFF2Classifier(), runner(cut([0, 10, 40], X, y))) is not None


def test_how_text_is_read_is_agreed_on_by_all_partitions():
    """Days and months that only a later partition tells apart, words among numbers, and words in one partition."""
    first = [["1/2/2024", "", "7"], ["3/4/2024", "", "8"], ["5/6/2024", "", "9"]] * 10
    later = [["25/2/2024", "", "ab"], ["26/4/2024", "", "8"], ["27/6/2024", "", "cd"]] * 10
    X = np.array([*first, *later], dtype=object)
    X[:, 1] = [str(k) for k in range(59)] + ["unknown"]
    y = np.arange(60.0)
    with pytest.warns(ColumnWarning, match="column 1 of X has cells that are no numbers, such as 'unknown'"):
        column_map, _ = fit_map(FourierBoostingRegressor(), runner(cut([0, 30, 60], X, y)))
    date, number, code = column_map._fitted_map().columns
    assert (date.kind, date.format) == ("date", "dmy")
    assert (number.kind, number.words) == ("numeric", ("unknown",))
    assert (code.kind, code.levels) == ("category", ("7", "8", "9", "ab", "cd"))


def test_errors_name_the_partition(table):
    X, y = table
    X = X.copy()
    X[500:, 0] = np.datetime64("2024-01-01")
    with pytest.raises(InvalidInputError, match=r"X of partition 1: .*one kind"):
        fit_map(FourierBoostingClassifier(), runner(cut([0, 500, N_ROWS], X, y)))
    with pytest.raises(InvalidInputError, match='"search", which trains on rows in one place'):
        fit_map(FourierBoostingClassifier(columns="search"), runner([(X, y)]))
    with pytest.raises(InvalidInputError, match="labels of one kind"):
        fit_map(FourierBoostingClassifier(), runner([(X, y), (X, np.arange(N_ROWS) % 2)]))


def test_merged_sketches_keep_their_bound(rng):
    values = rng.standard_normal(200_000)
    total = QuantileSketch()
    for start, stop in itertools.pairwise([0, 50_000, 50_001, 130_000, 200_000]):
        part = QuantileSketch()
        for first in range(start, stop, 4096):
            block = values[first : min(first + 4096, stop)]
            part.add(block, np.ones(len(block)))
        total.merge(part)
    found = total.summary()
    ends = np.cumsum(found.weights)
    assert ends[-1] == pytest.approx(200_000)
    ranks = np.searchsorted(np.sort(values), found.values, side="right")
    n_blocks = 200_000 / 4096 + 4
    assert np.abs(ends - ranks).max() / 200_000 <= (2 + np.log2(n_blocks)) / (2 * N_ENTRIES)


@pytest.mark.parametrize(("min_level_rows", "form"), [("auto", "levels"), (5, "target")])
def test_a_panel_in_order_of_time_tells_of_its_groups(rng, min_level_rows, form):
    """The rows of a firm have the same index modulo the number of folds: all would be held out together."""
    X = np.array([[f"f{k % 50}", size] for k, size in enumerate(rng.standard_normal(300))], dtype=object)
    y = np.tile(rng.standard_normal(50), 6) + 0.2 * rng.standard_normal(300)
    model = FourierBoostingRegressor(columns=ColumnMap(min_level_rows=min_level_rows))
    for edges in ([0, 300], [0, 100, 300]):
        column_map, folds = fit_map(model, runner(cut(edges, X, y)))
        assert column_map.describe()[0]["form"] == form
    column_map, folds = fit_map(model, runner([(X, y)]))
    np.testing.assert_array_equal(map_training_rows(0, X, column_map._fitted_map(), folds),
                                  fit_copy(model.columns, X, y, None, False)[1])
