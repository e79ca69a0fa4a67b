"""Arrays of numbers take a shorter way to the bits of the twin of compiled code."""

import pickle

import numpy as np
import pytest
import reference

from rffkern import ColumnMap, InvalidInputError
from rffkern._column_map.compiled import CompiledMap, outputs_of

FORMS = ("raw", "standard", "bounded", "rank", "bins")
DTYPES = [np.float32, np.float64]


def by_twin(found, X):
    """What plain NumPy makes of each output; `apply` of tables has the same bits."""
    fitted, values = found._fitted, X.astype(np.float64) + 0.0
    mapped = np.stack([reference.column_form(each.entry[0], [each.entry[1], each.divisor, *each.entry[2:]], each.knots,
                                             each.heights, values[:, j])
                       for j, column in enumerate(fitted.columns) for each in outputs_of(column)], axis=1)
    assert fitted.apply(fitted.read(X, "the test")).tobytes() == mapped.tobytes()
    return mapped


def skewed(rng, n_rows=3000):
    """Columns with tails, ties, two values, one value, and numbers near the ends of the range."""
    X = rng.standard_normal((n_rows, 6))
    X[:, 1] = np.exp(2 * X[:, 1])
    X[:, 2] = rng.poisson(3, n_rows)
    X[:, 3] = rng.integers(0, 2, n_rows)
    X[:, 4] = 7
    X[:, 5] *= 1e30
    return X


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("forms", [*((form,) for form in FORMS), ("bounded", "rank"), FORMS])
@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_are_those_of_the_twin(rng, forms, dtype):
    X = skewed(rng).astype(dtype)
    X[:, 0][rng.random(len(X)) < 0.1] = np.nan  # so that it has an indicator
    found = ColumnMap(forms).fit(X)
    rows = X[:1500].copy()
    rows[::5, 3] = -0.0
    for given in (rows, np.asfortranarray(rows), rows[::3, :], rows[:1], np.nan_to_num(rows)):
        expected = by_twin(found, given)
        assert found._compiled.accepts(given)
        mapped = found.transform(given)
        assert mapped.dtype == np.float64
        assert mapped.tobytes() == expected.tobytes()
        as_given = found._transform(given, "the test")
        assert as_given.dtype == dtype
        assert as_given.tobytes() == expected.astype(dtype).tobytes()


def test_one_group_of_two():
    """A column of two values has one bin."""
    X = np.array([0.0, 0.0, 1.0, 1.0, 1.0])[:, None]
    found = ColumnMap(("bins",)).fit(X)
    assert found.transform(X).shape == (5, 1)
    assert found.transform(X).tobytes() == by_twin(found, X).tobytes()


def test_fit_transform_gives_the_same_bits(rng):
    X = skewed(rng)
    assert ColumnMap(FORMS).fit_transform(X).tobytes() == ColumnMap(FORMS).fit(X).transform(X).tobytes()


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1.5 * 2.0**1023])
def test_values_that_are_not_finite_are_named(rng, value):
    X = skewed(rng)
    found = ColumnMap(FORMS).fit(X)
    assert found._compiled.map(X) is not None
    for column in (1, 4):  # one of them has no forms
        rows = X.copy()
        rows[700, column] = value
        assert found._compiled.map(rows) is None
        with pytest.raises(InvalidInputError, match=f"column {column} of X must be finite"):
            found.transform(rows)


def test_other_tables_are_not_taken(rng):
    X = skewed(rng, 50)
    found = ColumnMap().fit(X)
    for table in (X[:, :3], X[0], X.tolist(), X.astype(object), X.astype(">f8"), (X > 0).astype(np.int64), X[:0],
                  np.ma.masked_array(X), None):
        assert found._compiled.map(table) is None
    assert ColumnMap().fit({"a": ["x", "y"] * 9, "b": np.arange(18.0)})._compiled is None
    assert ColumnMap().fit({"a": np.arange(18).astype("M8[D]")})._compiled is None


def test_it_survives_pickling(rng):
    X = skewed(rng, 100)
    found = ColumnMap(FORMS).fit(X)
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again._compiled, CompiledMap)
    assert again.transform(X).tobytes() == found.transform(X).tobytes()


def test_threads_do_not_matter(rng, eight_cpus):
    X = rng.standard_normal((9000, 7))
    plain = ColumnMap(("bounded", "rank")).fit(X[:500])._compiled
    one, three = plain.map(X, 1), plain.map(X, 3)
    assert one.tobytes() == three.tobytes()
