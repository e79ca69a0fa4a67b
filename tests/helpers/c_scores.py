"""Scores of C beside those of Python, and how far they are apart."""

import datetime
import struct
from pathlib import Path

import numpy as np

from helpers import c_models
from helpers.c_cells import Cell
from rffkern import ColumnMap, load
from rffkern._model.expansion import Expansion
from rffkern._native import simd

FROZEN = Path(__file__).parents[1] / "data"
LARGEST_BETWEEN = 8  # units of the sizes of the terms, between classes


def answers(model, rows):
    """Scores, predictions and probabilities of rows in Python, one array after the other, flat."""
    if isinstance(model, (Expansion, ColumnMap)):
        scores = model.score(rows) if isinstance(model, Expansion) else model.transform(rows)
        return {"scores": scores, "predictions": scores}
    if hasattr(model, "classes_"):
        labels = np.searchsorted(model.classes_, model.predict(rows))
        return {"scores": model.decision_function(rows), "predictions": labels,
                "probabilities": model.predict_proba(rows)}
    if hasattr(model, "transform"):
        scores = model.expansion_.score(rows)
        return {"scores": scores, "predictions": scores}
    return {"scores": model._raw_scores(rows), "predictions": model.predict(rows)}


def parted(flat, like):
    """Answers of C in the shapes of those of Python."""
    found, start = {}, 0
    for name, array in like.items():
        found[name] = flat[start : start + array.size].reshape(array.shape)
        start += array.size
    assert start == flat.size
    return found


def sizes(model, rows):
    """The sizes of the terms of scores."""
    column_map = getattr(model, "column_map_", None)
    expansion = getattr(model, "expansion_", model)
    if isinstance(model, ColumnMap):
        return 1.0
    rows = np.asarray(rows if column_map is None else column_map.transform(rows), np.float64)
    found = np.abs(expansion.intercept)
    if expansion.kernels is not None:
        found = found + np.abs(expansion.kernels.weights).sum(axis=0)
    if expansion.fourier is None:
        return found
    angles = np.abs(rows - expansion.center) @ np.abs(expansion.fourier.omegas).T
    return found + (1 + angles) @ np.abs(expansion.fourier.amplitudes)


def units(ours, theirs, dtype, unit=1.0):
    """The largest difference, in units of the last place of max(|theirs|, unit)."""
    if np.array_equal(ours, theirs):
        return 0.0
    theirs = theirs.reshape(len(theirs), -1)
    return float((np.abs(ours.reshape(theirs.shape) - theirs)
                  / (np.finfo(dtype).eps * np.maximum(np.abs(theirs), unit))).max())


def compare(found, expected, case, worst):
    """Keep the largest differences of a model."""
    def keep(name, value):
        worst[name] = max(worst.get(name, 0), value)

    precision = np.dtype(case.dtype).name
    keep(precision, units(found["scores"], expected["scores"], case.dtype))
    keep("of terms", units(found["scores"], expected["scores"], case.dtype, case.sizes))
    if case.is_frozen and not case.has_kernels:
        usual = np.arange(len(found["scores"])) % c_models.FAR != 0
        keep("frozen", units(found["scores"][usual], expected["scores"][usual], case.dtype))
    if "probabilities" in expected:
        worst["labels"] = worst.get("labels", 0) + int((found["predictions"] != expected["predictions"]).sum())
        keep("probabilities", units(found["probabilities"], expected["probabilities"], np.float64))
    else:
        keep(precision, units(found["predictions"], expected["predictions"], case.dtype))


def packed(table):
    """Rows of cells as score_rows.c reads them: text, dates, numbers, and None where missing."""
    cells = [Cell.of(np.datetime64(value) if isinstance(value, datetime.date) else value)
             for row in zip(*table.values(), strict=True) for value in row]
    return b"".join(struct.pack("=idI", cell.kind, cell.number, cell.length) + (cell.text or b"") for cell in cells)


class Case:
    """A model, rows of a precision or of the cells of a table, and what Python makes of them at both classes."""

    def __init__(self, name, path, dtype, n_rows, folder, levels, table=None):
        self.name, self.path, self.dtype = name, path, dtype
        model = load(path)
        rows = table or c_models.rows_for(model, np.random.default_rng(3), n_rows).astype(dtype)
        self.form = "cells" if table else str(np.dtype(dtype).itemsize)
        self.sizes, self.is_frozen = sizes(model, rows), "/" in name
        self.has_kernels = [*getattr(getattr(model, "expansion_", model), "arrays", dict)()][2:3] == ["centers"]
        self.rows = folder / f"{name.replace('/', '_')}_{np.dtype(dtype).name}.rows"
        self.rows.write_bytes(packed(table) if table else rows.tobytes())
        self.expected = {}
        for fuses, level in levels.items():
            simd.select(level)
            self.expected[fuses] = answers(load(path), rows)

    def run(self, target, program, folder):
        """What a target makes of the rows."""
        out = folder / "answers"
        target.run(program, self.path, self.form, self.rows, out)
        return parted(np.fromfile(out), next(iter(self.expected.values())))
