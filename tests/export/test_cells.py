"""Cells of text in exported files mean what they mean in Python."""

import json
import math
import shutil
import subprocess

import numpy as np
import pytest
from helpers.awkward_columns import columns as awkward_columns
from helpers.awkward_columns import some_durations

from rffkern._column_map.cells import (
    CATEGORY,
    NUMERIC,
    Reading,
    infer_reading,
    known_level,
    levels_of_texts,
    read_column,
)
from rffkern._column_map.text import TextForm
from rffkern._export.cells import c_cells, c_type, js_cells
from rffkern._export.function import Column, RowMap
from rffkern._export.loops import _hexadecimal

ODD = ["", "  ", "NA", " nan ", "None", "-", "e5", "1e5", "+1.5E-3", "1_000", "12", "007", "-0", "1.0", "1.50", "inf",
       "-Infinity", "1e999", "١٢", "12 kg", "yes", "NO", "Sí", "True", "falso", "2024-02-29", "2023-02-29",
       "2024-13-01",
       "2024-03-01 12:30", "2024-03-01t12:30:15.5+01:00", "2024-03-01 12:30:15.123456789 Z", "2024-03-01 24:00",
       "0001-01-01", "2024-03-01 12:30:15-0530", "2024-03-01 12:30+02", "2024-3-1", "never seen", "İ",
       "\u00a0Bern\u2003"]
LEVELS = {
    "words": ("Bern", "Zürich", "a\"b", "o'x", "東京"), "numbers": ("-1", "0", "1", "1.5", "12", "1e+20", "7"),
    "truth": ("False", "True"), "truth among others": ("True", "maybe"), "codes": ("007", "12"),
    "large": ("100000000000000000000", "9007199254740993"), "none": ("None", "x")}


DURATIONS = Column(NUMERIC, Reading(NUMERIC, "duration"))


def category(levels, has_rare):
    levels = tuple(sorted(levels))
    return Column(CATEGORY, Reading(CATEGORY, "raw"), levels, float(len(levels)) if has_rare else math.nan)


def expected_of(column, text):
    """The value of a text in Python; None where it has none."""
    if column.kind == CATEGORY:
        level = levels_of_texts([text.strip()], column.reading)[0]
        level = None if level is None else known_level(level, column.levels)
        return math.nan if level is None else column.levels.index(level) if level in column.levels else column.other
    values, odd = read_column([text], column.reading)
    return None if odd else float(values[0])


def columns_to_read():
    """Columns, and the texts to read in each."""
    found = [(category(levels, has_rare), [*levels, *ODD]) for levels in LEVELS.values() for has_rare in (True, False)]
    for each in awkward_columns():
        reading = infer_reading(each.cells)
        if reading is not None and reading.kind == CATEGORY:
            levels = {level for level in levels_of_texts([*map(str.strip, each.cells)], reading) if level is not None}
            found.append((category(levels, True), each.cells[:9]))
        elif reading is not None:
            found.append((Column(reading.kind, reading), [*dict.fromkeys(each.cells), *ODD]))
    durations = [*some_durations(np.random.default_rng(0), 9000), "1d" + "9" * 70, "1h" + " " * 70 + "x"]
    return [*found, (DURATIONS, durations)]


def same(found, expected):
    return (found is None) == (expected is None) and (found is None or found == expected or (
        math.isnan(expected) and math.isnan(found)))


@pytest.mark.skipif(shutil.which("node") is None, reason="node not found")
def test_javascript(tmp_path):
    given = columns_to_read()
    mapping = RowMap(tuple(column for column, _ in given), (), (), [])
    script = (f"const columns = {json.dumps([*map(str, range(len(given)))])};\n{js_cells(mapping)}\n"
              f"const texts = {json.dumps([texts for _, texts in given])};\n"
              "console.log(JSON.stringify(texts.map((each, j) => each.map((text) => {\n"
              "    const value = value_of(raw_columns[j], text);\n"
              "    return value === undefined ? null : String(value);\n}))));\n")
    (tmp_path / "run.mjs").write_text(script, encoding="utf-8")
    done = subprocess.run(["node", tmp_path / "run.mjs"], capture_output=True, text=True, check=True, encoding="utf-8")
    wrong = []
    for (column, texts), values in zip(given, json.loads(done.stdout), strict=True):
        for text, value in zip(texts, values, strict=True):
            expected, found = expected_of(column, text), None if value is None else float(value)
            if not same(found, expected):
                wrong.append((column.reading, text, found, expected))
    assert not wrong


_INCLUDES = "".join(f"#include <{name}.h>\n" for name in ("float", "math", "stddef", "stdint", "stdio", "string"))
_MAIN = """
int main(void)
{
    static char text[65536];
    unsigned j, size;
    while (fread(&j, 4, 1, stdin) == 1 && fread(&size, 4, 1, stdin) == 1) {
        rff_cell cell = {RFF_CELL_TEXT, 0, text, size};
        double value;
        if (fread(text, 1, size, stdin) != size) return 1;
        if (rff_read_cell(&raw_columns[j], &cell, &value) == RFF_OK) printf("%.17g\\n", value);
        else printf("odd\\n");
    }
    return sizeof &read_row > 0 ? 0 : 1;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc not found")
def test_c(tmp_path):
    given = columns_to_read()
    mapping = RowMap(tuple(column for column, _ in given), (), (), [])
    text = _INCLUDES + c_type("model") + c_cells(mapping, "model", _hexadecimal) + _MAIN
    (tmp_path / "cells.c").write_text(text, encoding="utf-8")
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined",
                    tmp_path / "cells.c", "-lm", "-o", tmp_path / "cells"], check=True)
    cells = [(j, column, text) for j, (column, texts) in enumerate(given) for text in texts]
    data = b"".join(np.array([j, len(text.encode())], np.uint32).tobytes() + text.encode() for j, _, text in cells)
    done = subprocess.run([tmp_path / "cells"], input=data, stdout=subprocess.PIPE, check=True)
    wrong = []
    for (_, column, text), line in zip(cells, done.stdout.decode().split(), strict=True):
        expected, found = expected_of(column, text), None if line == "odd" else float(line)
        if not same(found, expected):
            wrong.append((column.reading, text, found, expected))
    assert not wrong


# --- free text

TEXTS = ["", "a", "Hello, WORLD_hello  world!", "ΟΔΟΣ ΟΔΟΣ. ΣΑΣ' ΑΣ-ΑΣ Σ Σ' A\u0301Σ ʰΣ", "İstanbul ISPARTA ǅ ß ẞ",
         "日本語 \uff12 ² Ⅷ ٣", "!!! ...", "e\u0301té été ÉTÉ", "😀 smile😀smile", "x" * 5000 + " end", "Don't " * 900,
         "ᲐᲑ \u13a0 ꭰ 𐐀𐐨 Ⓐ", "  one two one  ", "ab\u00adcd \u200bxy", "\u212a \u212b \u2126"]


def free_text():
    """A column of free text of 1,024 buckets and two outputs, and their scores of texts in Python."""
    rng = np.random.default_rng(0)
    form = TextForm(rng.standard_normal(2), 1 + rng.random(1024), rng.standard_normal((2, 1024)))
    column = Column(CATEGORY, Reading(CATEGORY, "raw"), ("zz",), 1.0)
    expected = form.of_texts([text.strip() for text in TEXTS]).T
    expected[TEXTS.index("")] = np.nan
    return RowMap((column,), (), (), [], ((0, form),)), expected


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc not found")
def test_free_text_in_c(tmp_path):
    mapping, expected = free_text()
    main = """
int main(void)
{
    static char text[65536];
    unsigned size;
    while (fread(&size, 4, 1, stdin) == 1 && fread(text, 1, size, stdin) == size) {
        model_cell cell = {text, 0};
        double x[3];
        text[size] = 0;
        if (read_row(&cell, x)) return 1;
        printf("%.17g %.17g ", x[1], x[2]);
    }
    return 0;
}
"""
    text = _INCLUDES + c_type("model") + c_cells(mapping, "model", _hexadecimal) + main
    (tmp_path / "text.c").write_text(text, encoding="utf-8")
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined",
                    tmp_path / "text.c", "-lm", "-o", tmp_path / "text"], check=True)
    data = b"".join(np.uint32(len(text.encode())).tobytes() + text.encode() for text in TEXTS)
    done = subprocess.run([tmp_path / "text"], input=data, stdout=subprocess.PIPE, check=True)
    np.testing.assert_array_equal(np.array(done.stdout.split(), float).reshape(-1, 2), expected)


@pytest.mark.skipif(shutil.which("node") is None, reason="node not found")
def test_free_text_in_javascript(tmp_path):
    mapping, expected = free_text()
    (tmp_path / "run.mjs").write_text(
        f'const columns = ["text"];\n{js_cells(mapping)}\nconst texts = {json.dumps(TEXTS)};\n'
        "console.log(texts.map((text) => [...read_row([text])].slice(1).join(' ')).join(' '));\n", encoding="utf-8")
    done = subprocess.run(["node", tmp_path / "run.mjs"], capture_output=True, text=True, check=True)
    np.testing.assert_array_equal(np.array(done.stdout.split(), float).reshape(-1, 2), expected)
