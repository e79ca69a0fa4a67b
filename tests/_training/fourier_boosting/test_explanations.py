"""Effects of columns on the scores of a given function, beside their definitions."""

import numpy as np
import pytest
from helpers.expansions import small_expansion as expansion

from rffkern import Expansion
from rffkern._training.fourier_boosting import inspection
from rffkern._training.fourier_boosting.inspection import MappedTable, columns_read, some_terms

ROWS = np.random.default_rng(2).standard_normal((40, 4))


def table(n_outputs=1, sources=(0, 1, 2, 3)):
    return MappedTable(expansion(n_outputs), ROWS, np.array(sources), 1 + max(sources), 1)


def mean_scores(of, columns, points):
    """Partial dependence by its definition."""
    found = []
    for point in points:
        changed = of.rows.copy()
        for column in columns:
            changed[:, of.sources == column] = of.rows[point, of.sources == column]
        found.append(of.expansion.score(changed).mean(axis=0))
    return np.array(found)


@pytest.mark.parametrize("sources", [(0, 1, 2, 3), (1, 0, 0, 2)])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_partial_dependence(sources, column):
    of = table(2, sources)
    values = ROWS[:, 3].round(1)
    points, scores = inspection.partial_dependence(of, column, values, 100)
    assert values[points].tolist() == np.unique(values).tolist()
    np.testing.assert_allclose(scores, mean_scores(of, [column], points), atol=1e-12)


def test_values_that_are_told_are_quantiles():
    values = np.r_[np.zeros(30), 1:11]
    points, _ = inspection.partial_dependence(table(), 0, values, 5)
    assert values[points].tolist() == [0, 10]  # three quarters of the rows have the same value
    points, _ = inspection.partial_dependence(table(), 0, np.arange(40.0), 5)
    assert points.tolist() == [0, 9, 19, 29, 39]


def test_missing_values_come_last():
    values = np.where(np.arange(40) % 5 == 3, np.nan, np.arange(40) % 2)
    points, scores = inspection.partial_dependence(table(), 0, values, 20)
    np.testing.assert_array_equal(values[points], [0, 1, np.nan])
    np.testing.assert_allclose(scores, mean_scores(table(), [0], points), atol=1e-12)
    points, _ = inspection.partial_dependence(table(), 0, np.full(40, np.nan), 20)
    assert points.tolist() == [0]


@pytest.mark.parametrize(("first", "second"), [(0, 2), (2, 3), (0, 3), (0, 1)])
def test_interactions_are_those_of_the_definition(first, second):
    of = table(2)
    both, *alone = (mean_scores(of, columns, range(40)) for columns in ([first, second], [first], [second]))
    both, *alone = (each - each.mean(axis=0) for each in (both, *alone))
    expected = ((both - alone[0] - alone[1]) ** 2).sum(axis=0) / (both**2).sum(axis=0)
    strength, size = inspection.interaction(of, first, second)
    np.testing.assert_allclose(strength, expected, atol=1e-12)
    np.testing.assert_allclose(size**2, ((both - alone[0] - alone[1]) ** 2).mean(axis=0), atol=1e-12)
    assert (strength > 1e-9).all() == ((first, second) in {(0, 2), (2, 3)})


def test_pairs_that_no_term_reads_together_are_left_out():
    found = inspection.interactions(table(2), np.full(4, 0.25))
    assert {pair[:2] for pair in found} == {(0, 2), (2, 3)}
    assert found[0][3] >= found[1][3] > 0
    for first, second, strength, size in found:
        strengths, sizes = inspection.interaction(table(2), first, second)
        assert size == pytest.approx(np.sqrt((sizes**2).sum()))
        assert strengths.min() < strength < strengths.max()


def test_only_important_columns_are_compared(monkeypatch):
    monkeypatch.setattr(inspection, "_MOST_COLUMNS", 2)
    assert [pair[:2] for pair in inspection.interactions(table(), np.array([0.1, 0, 0.6, 0.3]))] == [(2, 3)]


def test_a_column_without_effect_has_no_interaction():
    of = MappedTable(expansion(), ROWS, np.arange(4), 6, 1)
    strength, size = inspection.interaction(of, 4, 5)
    assert strength.tolist() == size.tolist() == [0]


@pytest.mark.parametrize("unit", [1e-290, 1e290])
def test_strengths_have_no_unit(unit):
    of = table(2)
    arrays = of.expansion.arrays()
    scaled = of._replace(expansion=Expansion._of_arrays(arrays | {
        name: unit * arrays[name].astype(float) for name in ("amplitudes", "intercept", "tree_values")}))
    for first, other in zip(inspection.interaction(of, 2, 3), inspection.interaction(scaled, 2, 3), strict=True):
        np.testing.assert_allclose(other / other.max(), first / first.max(), rtol=1e-6)
    pairs = [inspection.interactions(each, np.full(4, 0.25)) for each in (of, scaled)]
    np.testing.assert_allclose([pair[2] for pair in pairs[1]], [pair[2] for pair in pairs[0]], rtol=1e-6)


def test_blocks_of_points_change_nothing(monkeypatch):
    whole = inspection.partial_dependence(table(), 2, ROWS[:, 2], 30)[1]
    monkeypatch.setattr(inspection, "_BLOCK", 500)
    np.testing.assert_allclose(inspection.partial_dependence(table(), 2, ROWS[:, 2], 30)[1], whole, atol=1e-14)


# --- some of the terms of a function, and what they read


def test_parts_add_up():
    whole, X = expansion(2), np.random.default_rng(1).standard_normal((50, 4))
    parts = [some_terms(whole, np.array(chosen, dtype=np.intp)) for chosen in ([0, 3], [], [2, 1])]
    assert [part.n_terms for part in parts] == [2, 0, 2]
    np.testing.assert_allclose(whole.intercept + sum(part.score(X) for part in parts), whole.score(X), atol=1e-14)


def test_columns_that_terms_read():
    reads = columns_read(expansion(), np.arange(4), 5)
    assert [np.flatnonzero(row).tolist() for row in reads] == [[0], [0, 2], [1], [2, 3]]


def test_mapped_columns_count_as_their_source():
    reads = columns_read(expansion(), np.array([1, 1, 1, 0]), 2)
    assert [np.flatnonzero(row).tolist() for row in reads] == [[1], [1], [1], [0, 1]]
