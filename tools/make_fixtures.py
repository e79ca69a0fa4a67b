"""Write the frozen model files of the current format version, once for each version and kind of file.

    python tools/make_fixtures.py tests/data

Files that exist are not changed: they are what a release has written.  Each family gets a file `FAMILY.npz` and, in
`FAMILY.json`, rows with the answers that the model gives for them.  `tests/contract/test_files.py` has a digest of the
files of each version.
"""

import argparse
import json
import pathlib
import sys
from typing import Any

import numpy as np

from rffkern import ColumnMap, FourierBoostingRegressor, GBRFF2Classifier, load, save
from rffkern._boosting import kernel_learning
from rffkern._estimator.registry import FAMILIES
from rffkern.serialize import FORMAT_VERSION


class Frame:
    """Rows with column names."""

    columns = ("length", "width", "größe")

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array


def small_model(cls: Any) -> Any:
    """An untrained model of a family with few terms, so that its file is small."""
    known = set(cls().get_params())
    small: dict[str, Any] = {"n_estimators": 8, "n_bags": 2, "n_landmarks": 8, "n_components": 3}
    if "kernel_ridge" in known:
        small["kernel_ridge"] = False
    elif "kernel" in known:  # with the default, weights of basis vectors are large and cancel
        small["reg_lambda"] = 0.1
    return cls(random_state=0, **{name: small[name] for name in small.keys() & known})


def answers(model: Any, rows: np.ndarray) -> np.ndarray:
    """Scores, predictions or features of rows."""
    method = next(name for name in ("decision_function", "predict", "transform") if hasattr(model, name))
    return getattr(model, method)(rows)


def columns_of(rows: np.ndarray) -> dict[str, Any]:
    """A table with gaps, a category and a date, whose values the rows determine."""
    first = np.where(rows[:, 0] > 1, np.nan, rows[:, 0])
    words = np.array(["red", "grün", "blue"])[np.digitize(rows[:, 1], [-50, 50])]
    days = np.datetime64("2024-02-28", "s") + np.round(rows[:, 2] * 1e9).astype("m8[s]")
    return {"length": first, "colour": words, "day": days, "width": rows[:, 1]}


def write_maps(folder: pathlib.Path, X: np.ndarray, y: np.ndarray) -> None:
    """ColumnMaps, one of which tells missing values from another column, a model with one and one that has chosen."""
    forms = ("raw", "standard", "bounded", "rank", "bins")
    ranks = ColumnMap(("standard", "rank"), n_knots=9)
    rows = X[:20]
    models = {"column_map": ColumnMap(forms, n_knots=9, n_bins=3, date_parts=True),
              "gbrff2_with_columns": GBRFF2Classifier(8, columns=ranks, random_state=0),
              "gbrff2_with_choice": GBRFF2Classifier(8, columns="auto", random_state=0),
              "column_map_filled": ColumnMap(forms, n_knots=9, n_bins=3)}
    for name, model in models.items():
        path = folder / f"{name}.npz"
        if not path.exists():
            filled = name.endswith("filled")
            tables = [columns_of(part) | ({"near": part[:, 0]} if filled else {}) for part in (X, rows)]
            save(model.fit(tables[0], y), path)
            expected = np.ravel(answers(model, tables[1])).tolist()
            path.with_suffix(".json").write_text(json.dumps({"rows": rows.tolist(), "answers": expected}))
            print(path)


def write_stacks(folder: pathlib.Path, X: np.ndarray, y: np.ndarray) -> None:
    """Models of terms and kernels, the second with regions."""
    rows = X[:20]
    for name, most_rows in (("fourier_boosting_kernels", kernel_learning.MOST_ROWS), ("fourier_boosting_regions", 20)):
        path = folder / f"{name}.npz"
        if not path.exists():
            kernel_learning.MOST_ROWS, kernel_learning.LARGEST_REGION = most_rows, 10
            model = FourierBoostingRegressor(8, n_bags=2, kernel_ridge=True, random_state=0).fit(X[20:60], y[20:60])
            save(model, path)
            expected = {"rows": rows.tolist(), "answers": np.ravel(answers(model, rows)).tolist()}
            path.with_suffix(".json").write_text(json.dumps(expected))
            print(path)


def write_expansions(folder: pathlib.Path, rows: np.ndarray) -> None:
    """The functions of models alone; those of Fourier boosting take mapped columns."""
    owners = {"fourier_expansion": "gbrff2", "kernel_expansion": "kernel_ridge",
              "term_expansion": "fourier_boosting", "sum_expansion": "fourier_boosting_regions"}
    for name, owner in owners.items():
        path = folder / f"{name}.npz"
        if not path.exists():
            expansion = load(folder / f"{owner}.npz").expansion_
            save(expansion, path)
            taken = np.resize(rows, (len(rows), expansion.n_features))
            expected = {"rows": taken.tolist(), "answers": np.ravel(expansion.score(taken)).tolist()}
            path.with_suffix(".json").write_text(json.dumps(expected))
            print(path)


def main() -> None:
    """Write what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="a subfolder of it is named after the format version")
    folder = pathlib.Path(parser.parse_args().folder, str(FORMAT_VERSION))
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(11)
    X = rng.standard_normal((200, 3)) * [1, 100, 0.01]
    value = X[:, 0] + X[:, 1] / 100
    y = np.array(["low", "middle", "high"])[np.digitize(value, [-0.7, 0.7])]
    for name, family in FAMILIES.items():
        path = folder / f"{name}.npz"
        if path.exists():
            continue
        model = small_model(family.load())
        target = value if family.task == "regressor" else y
        held_out = {"eval_set": (X[:50], target[:50])} if "n_estimators" in model.get_params() else {}
        save(model.fit(Frame(X), target, **held_out), path)
        rows = X[:20]
        expected = {"rows": rows.tolist(), "answers": np.ravel(answers(model, rows)).tolist()}
        if hasattr(model, "classes_"):
            expected["labels"] = model.predict(rows).tolist()
        if not np.array_equal(answers(load(path), rows), answers(model, rows)):
            sys.exit(f"{path}: the model in the file gives other answers than the one that was trained")
        path.with_suffix(".json").write_text(json.dumps(expected))
        print(path)
    write_maps(folder, X, y)
    write_stacks(folder, X, value)
    write_expansions(folder, X[:20])


if __name__ == "__main__":
    main()
