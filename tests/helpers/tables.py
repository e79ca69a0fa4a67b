"""One table in the forms of several packages."""

import datetime

import numpy as np
import pytest

_DAYS = [datetime.datetime(2024, 1, 1), None, datetime.datetime(1965, 5, 6, 7, 8, 9), datetime.datetime(2000, 1, 1),
         datetime.datetime(2024, 1, 1)]
CONTENT = {"size": [1.5, None, -2.0, 3.25, 0.0], "count": [1, 2, 7, 2, 1], "colour": ["red", "blue", None, "red", "é"],
           "flag": [True, None, False, True, True], "day": _DAYS, "nothing": [None] * 5}

TABLES = ("arrays", "pandas", "pandas categories", "pandas nullable", "pandas arrow", "polars", "polars categories",
          "polars enum", "pyarrow", "pyarrow batch", "pyarrow chunks", "pyarrow dictionary")


def same_table(a, b):
    """Whether two raw tables are equal to the last bit."""
    return a.names == b.names and a.n_rows == b.n_rows and all(
        x.kind == y.kind and x.levels == y.levels and x.values.tobytes() == y.values.tobytes()
        for x, y in zip(a.columns, b.columns, strict=True))


def table_of(form, content=CONTENT):
    """The content in one of the forms `TABLES`; a package that is not there skips the test."""
    package, _, variant = form.partition(" ")
    if package == "arrays":
        return {name: np.array(values, dtype=object) for name, values in content.items()}
    module = pytest.importorskip(package)
    return {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow}[package](module, variant, content)


def _pandas(pandas, variant, content):
    frame = pandas.DataFrame(content)
    if variant == "categories":
        frame["colour"] = pandas.Categorical(frame["colour"], ["unused", "é", "red", "blue"])
        frame["count"] = frame["count"].astype("uint8")
        frame["day"] = frame["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    if variant == "nullable":
        frame = frame.astype({"size": "Float64", "count": "Int16", "flag": "boolean", "colour": "string"})
    if variant == "arrow":
        pytest.importorskip("pyarrow")
        frame = frame.convert_dtypes(dtype_backend="pyarrow")
    return frame


def _polars(polars, variant, content):
    frame = polars.DataFrame(content)
    if variant == "categories":
        frame = frame.with_columns(polars.col("colour").cast(polars.Categorical), polars.col("count").cast(polars.Int8))
    if variant == "enum":
        frame = frame.with_columns(polars.col("colour").cast(polars.Enum(["unused", "red", "é", "blue"])),
                                   polars.col("day").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"))
    return frame


def _pyarrow(pyarrow, variant, content):
    table = pyarrow.table(content)
    if variant == "dictionary":
        table = table.set_column(2, "colour", table["colour"].dictionary_encode())
    if variant in ("chunks", "dictionary"):
        table = pyarrow.concat_tables([table[:2], table[2:]])
    return table.to_batches()[0] if variant == "batch" else table
