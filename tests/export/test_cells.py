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
from rffkern._column_map.compiled import Values
from rffkern._column_map.text import text_form
from rffkern._export.c_program import hexadecimal
from rffkern._export.cells import c_cells, c_type, js_cells
from rffkern._export.function import Column, RowMap

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


DURATIONS = Column(Reading(NUMERIC, "duration"))
REVIEWS = ["", "a", "Hello, WORLD_hello  world!", "ΟΔΟΣ ΟΔΟΣ. ΣΑΣ' ΑΣ-ΑΣ Σ Σ' A\u0301Σ ʰΣ", "İstanbul ISPARTA ǅ ß ẞ",
           "日本語 \uff12 ² Ⅷ ٣", "!!! ...", "e\u0301té été ÉTÉ", "😀 smile😀smile", "x" * 5000 + " end",
           "Don't " * 900, "ᲐᲑ \u13a0 ꭰ 𐐀𐐨 Ⓐ", "  one two one  ", "ab\u00adcd \u200bxy", "\u212a \u212b \u2126"]


def category(levels, has_rare):
    levels = tuple(sorted(levels))
    return Column(Reading(CATEGORY, "raw"), levels, float(len(levels)) if has_rare else math.nan)


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
            found.append((Column(reading), [*dict.fromkeys(each.cells), *ODD]))
    durations = [*some_durations(np.random.default_rng(0), 9000), "1d" + "9" * 70, "1h" + " " * 70 + "x"]
    return [*found, (DURATIONS, durations)]


def free_text():
    """Of 1,024 buckets and two outputs."""
    rng = np.random.default_rng(0)
    return text_form(np.concatenate([[1024], rng.standard_normal(2), 1 + rng.random(1024), rng.standard_normal(2048)]))


# Of each cell its column and its text: its value and the scores of the free text, or "odd".
C_MAIN = r"""
int main(void)
{
    static char text[65536];
    unsigned j, size;
    while (fread(&j, 4, 1, stdin) == 1 && fread(&size, 4, 1, stdin) == 1) {
        model_cell cells[N_COLUMNS];
        double x[N_COLUMNS + 2];
        if (fread(text, 1, size, stdin) != size) return 1;
        text[size] = 0;
        for (int k = 0; k < N_COLUMNS; k++) cells[k] = (model_cell){0, NAN};
        cells[j].text = text;
        if (read_row(cells, x)) printf("odd\n");
        else printf("%.17g %.17g %.17g\n", x[j], x[N_COLUMNS], x[N_COLUMNS + 1]);
    }
    return 0;
}
"""
JS_MAIN = """
for (const [j, text] of cells) {
    const row = new Array(N_COLUMNS).fill(null);
    row[j] = text;
    try {
        const x = read_row(row);
        console.log(x[j], x[N_COLUMNS], x[N_COLUMNS + 1]);
    } catch (error) {
        console.log("odd");
    }
}
"""


def in_c(folder, mapping, cells):
    includes = "".join(f"#include <{name}.h>\n" for name in ("float", "math", "stddef", "stdint", "stdio", "string"))
    (folder / "cells.c").write_text(includes + c_type("model") + c_cells(mapping, "model", hexadecimal)
                                    + C_MAIN.replace("N_COLUMNS", str(len(mapping.columns))), encoding="utf-8")
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined",
                    folder / "cells.c", "-lm", "-o", folder / "cells"], check=True)
    if shutil.which("g++"):  # programs in C++ include such files, too
        subprocess.run(["g++", "-x", "c++", "-fsyntax-only", folder / "cells.c"], check=True)
    data = b"".join(np.array([j, len(text.encode())], np.uint32).tobytes() + text.encode() for j, text in cells)
    return subprocess.run([folder / "cells"], input=data, stdout=subprocess.PIPE, check=True).stdout


def in_javascript(folder, mapping, cells):
    (folder / "run.mjs").write_text(
        f"const columns = {json.dumps([*map(str, range(len(mapping.columns)))])};\n{js_cells(mapping)}\n"
        f"const cells = {json.dumps(cells)};\n{JS_MAIN.replace('N_COLUMNS', str(len(mapping.columns)))}",
        encoding="utf-8")
    return subprocess.run(["node", folder / "run.mjs"], stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize(("read", "program"), [(in_c, "gcc"), (in_javascript, "node")])
def test_every_text_in_every_column(read, program, tmp_path):
    if shutil.which(program) is None:
        pytest.skip(f"{program} not found")
    form, given = free_text(), [*columns_to_read(), (category(("zz",), True), REVIEWS)]
    last = len(given) - 1
    values = Values([], len(given) + len(form.outputs), [(last, form, len(given))])
    mapping = RowMap(tuple(column for column, _ in given), (), (), [], values)
    cells = [(j, text) for j, (_, texts) in enumerate(given) for text in texts if "\0" not in text]
    wrong, odd = [], []
    for (j, text), line in zip(cells, read(tmp_path, mapping, cells).decode().splitlines(), strict=True):
        expected, found = expected_of(given[j][0], text), None if line == "odd" else [*map(float, line.split())]
        if expected is None or found is None:
            odd.append((j, text))
            right = expected is found
        else:
            scores = form.of_texts([text.strip()])[:, 0] if j == last and text else [math.nan, math.nan]
            right = np.array_equal(found, [expected, *scores], equal_nan=True)
        if not right:
            wrong.append((given[j][0].reading, text, found, expected))
    assert not wrong
    assert 1000 < len(odd) < len(cells) / 2
