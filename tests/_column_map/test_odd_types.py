"""Types of polars and pyarrow that NumPy has not: they are taken as they are, or refused by name."""

import datetime
import decimal

import numpy as np
import pytest

from rffkern import FourierBoostingRegressor, GBRFFRegressor, KernelRidgeClassifier, RFFKernError
from rffkern._column_map.tables import read_table
from rffkern.errors import DataConversionWarning

polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

N = 60
INTEGERS = range(N)
WIDE = [kind for kind in (getattr(polars, name, None) for name in ("Int128", "UInt128")) if kind is not None]

TAKEN = {
    "decimals": polars.Series([decimal.Decimal(i) for i in INTEGERS]),
    "durations": polars.Series([datetime.timedelta(seconds=i) for i in INTEGERS]),
    "objects": polars.Series([*INTEGERS], dtype=polars.Object),
    "arrow decimals": pyarrow.array([decimal.Decimal(i) for i in INTEGERS], pyarrow.decimal256(60, 2)),
    "arrow durations": pyarrow.array(INTEGERS, pyarrow.duration("s")),
    "arrow times": pyarrow.array(INTEGERS, pyarrow.time32("s")),
} | {str(kind): polars.Series([*INTEGERS]).cast(kind) for kind in WIDE}
REFUSED = {
    "bytes": polars.Series([b"a"] * N), "lists": polars.Series([[i] for i in INTEGERS]),
    "arrays": polars.Series([[i, 1] for i in INTEGERS], dtype=polars.Array(polars.Int64, 2)),
    "structs": polars.Series([{"a": i} for i in INTEGERS]),
    "any objects": polars.Series([object() for _ in INTEGERS], dtype=polars.Object),
    "arrow bytes": pyarrow.array([b"a"] * N), "arrow lists": pyarrow.array([[i] for i in INTEGERS]),
    "arrow maps": pyarrow.array([[("k", i)] for i in INTEGERS], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
    "arrow unions": pyarrow.UnionArray.from_dense(pyarrow.array([0] * N, pyarrow.int8()), pyarrow.array(
        INTEGERS, pyarrow.int32()), [pyarrow.array(INTEGERS)]),
}


def table(column):
    is_polars = isinstance(column, polars.Series)
    return polars.DataFrame({"big": column}) if is_polars else pyarrow.table({"big": column})


@pytest.mark.parametrize("column", TAKEN.values(), ids=TAKEN)
def test_what_is_taken(column):
    np.testing.assert_array_equal(read_table(table(column)).columns[0].values, [*INTEGERS])


@pytest.mark.parametrize("column", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(column):
    with pytest.raises(RFFKernError, match="column 'big' of X"):
        FourierBoostingRegressor(2, n_bags=1).fit(table(column), [*INTEGERS])
    with pytest.raises(RFFKernError, match="X must be"):
        GBRFFRegressor(2, columns=None).fit(table(column), [*INTEGERS])


@pytest.mark.parametrize("kind", WIDE, ids=str)
def test_integers_of_128_bits(kind):
    """As rows with a map and without, as targets, labels and weights."""
    wide = polars.Series([*INTEGERS]).cast(kind)
    narrow = np.array(INTEGERS)
    for model in (FourierBoostingRegressor(2, n_bags=1, kernel_ridge=False, random_state=0),
                  GBRFFRegressor(2, random_state=0)):
        expected = model.fit(narrow[:, None], narrow, narrow).predict(narrow[:, None])
        model.fit(polars.DataFrame({"big": wide}), wide, wide)
        np.testing.assert_array_equal(model.predict(polars.DataFrame({"big": wide})), expected)
    model = KernelRidgeClassifier(random_state=0).fit(narrow[:, None], wide // 30)
    assert model.classes_.tolist() == [0, 1]
    assert model.score(narrow[:, None], wide // 30) > 0.9
    gaps = polars.DataFrame({"big": polars.Series([*INTEGERS[1:], None]).cast(kind)})
    np.testing.assert_array_equal(read_table(gaps).columns[0].values, [*INTEGERS[1:], np.nan])
    with pytest.warns(DataConversionWarning, match=r"column 'big' of X has integers of 2\^53 or more"):
        read_table(polars.DataFrame({"big": polars.Series([2**70 + i for i in INTEGERS], dtype=kind)}))
