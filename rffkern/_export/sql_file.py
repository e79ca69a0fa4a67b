"""One SELECT that DuckDB, SQLite and PostgreSQL run unchanged.

Terms and leaves are rows of VALUES, joined with the rows of the table: no expression is longer than a row has columns,
and none is deeper than some tens.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._column_map.cells import CATEGORY, DATE, EMPTY, FIRST_YEAR_OF_1900, NUMERIC, PLAIN_MARKS, Reading
from .._column_map.fitted_column import FittedColumn
from ..errors import InvalidInputError
from .cells import BLANKS
from .formulas import CLIP, FORMS, KERNELS, LINE, PLACES, TextWriter, write
from .function import Array, Column, Function, Intervals, Output, Part, RowMap, check_texts

_Summed = tuple[list[str], str]  # tables, and the SELECT of what a part adds to the scores

# Where an engine limits the columns of a result: 1,664 in PostgreSQL and 2,000 in SQLite.
_MOST_COLUMNS = 1600

_MOST_NUMBERS = 500_000  # of arrays, in a statement of some tens of megabytes

# Rows of VALUES of which SQLite makes an index for a join; it would read all of 30,000 for each row.
_MOST_INDEXED = 16384

# Tables of levels that are joined at once; SQLite joins 64 tables at most.
_MOST_JOINED = 50

# Exponentials of less are nothing: PostgreSQL refuses products that are too small for a number.
_LEAST_LOG = -400.0


def _number(value: float) -> str:
    """The shortest text that reads back: with an exponent, as DuckDB takes others for decimal fractions."""
    text = repr(value)
    return text if "e" in text else text.removesuffix(".0") + "e0"


def _exact(value: float) -> str:
    """A number that all engines read to the last bit; SQLite may round one of more than 15 digits wrongly."""
    text = _number(value)
    above, below = value.as_integer_ratio()
    if len(text.partition("e")[0].lstrip("-0.").replace(".", "")) <= 15 or max(abs(above), below) >= 2**63:
        return text
    return f"CAST({above}e0 AS double precision) / {below}e0"


_FUNCTIONS = {
    "where": "CASE WHEN {} THEN {} ELSE {} END", "max": "CASE WHEN {0} > {1} THEN {0} ELSE {1} END",
    "min": "CASE WHEN {0} < {1} THEN {0} ELSE {1} END", "log": "ln({})",
    "exp": f"CASE WHEN {{0}} < {_number(_LEAST_LOG)} THEN 0e0 ELSE exp({{0}}) END"}
_FUNCTIONS = {name: f"({pattern})" for name, pattern in _FUNCTIONS.items()}
_WRITER = TextWriter(_FUNCTIONS, "{}({})", _exact)


def quoted(name: str) -> str:
    """A name as it is."""
    return '"' + name.replace('"', '""') + '"'


def table_name(table: str) -> str:
    """The name of a table, which may have that of a schema and a point before it."""
    return ".".join(map(quoted, table.split(".")))


def _literal(value: Any) -> str:
    """A label."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return _number(value) if isinstance(value, float) else str(value).upper()


def _sum(terms: Sequence[str]) -> str:
    """A sum in which no addition is deep inside another."""
    if len(terms) < 2:
        return terms[0] if terms else "0e0"
    half = len(terms) // 2
    return f"({_sum(terms[:half])} + {_sum(terms[half:])})"


def _search(x: str, bounds: Sequence[str], leaves: Sequence[str]) -> str:
    """The leaf after the last of increasing bounds that is not above x, by halves."""
    if not bounds:
        return leaves[0]
    half = len(bounds) // 2
    return (f"CASE WHEN {x} >= {bounds[half]} THEN {_search(x, bounds[half + 1 :], leaves[half + 1 :])} "
            f"ELSE {_search(x, bounds[:half], leaves[: half + 1])} END")


def _stage(name: str, columns: Sequence[str], source: str) -> str:
    """A table that is computed once."""
    return f"{name} AS MATERIALIZED (SELECT {', '.join(columns)} FROM {source})"


def _values(name: str, columns: Sequence[str], rows: Sequence[Sequence[float]], whole: int = 0) -> Iterator[str]:
    """A table of numbers, the first columns of which are whole; as a plain list it would be decimal fractions."""
    lines = (", ".join([*(str(int(value)) for value in row[:whole]), *map(_number, row[whole:])]) for row in rows)
    yield f"{name}_text ({', '.join(columns)}) AS (VALUES\n" + ",\n".join(f"({line})" for line in lines) + ")"
    yield _stage(name, [*columns[:whole], *(f"CAST({each} AS double precision) AS {each}" for each in columns[whole:])],
                 f"{name}_text")


def sql_file(function: Function, table: str, key: str) -> str:
    """The text of the statement."""
    check_texts(function, "sql", without="\0")
    n_outputs = function.intercept.size
    if function.n_columns + 2 * function.n_features + n_outputs + function.n_answers > _MOST_COLUMNS:
        raise InvalidInputError(f"a SELECT would need more than {_MOST_COLUMNS} columns for a model of "
                                f"{function.n_features} features and {n_outputs} outputs, which databases refuse; "
                                "export it to another target")
    n_numbers = sum(array.size for part in function.parts for array in part.arrays.values())
    n_numbers += 0 if function.mapping is None else sum(output.heights.size for output in function.mapping.outputs)
    if n_numbers > _MOST_NUMBERS:
        raise InvalidInputError(f"a SELECT would hold {n_numbers} numbers, which databases take minutes to read (more "
                                f"than {_MOST_NUMBERS}); train a smaller model, or export it to another target")
    stages, z = [*_raw(function, table_name(table), key)], _columns("z", function.n_features)
    notes: list[str] = []
    if function.mapping is None:
        features, source = [f"x{j} AS z{j}" for j in range(function.n_columns)], "rff_x"
    else:
        stages += _mapped(function.mapping)
        features, source = z, "rff_z"
        notes = cells_read(zip(function.column_names(), function.mapping.columns, strict=True), json.dumps)
    if function.bounds is not None:
        stages.append(_stage("rff_any", ["id", *features], source))
        lower, upper = ([*map(_exact, each.tolist())] for each in function.bounds.values())
        clipped = [f"{write(CLIP, _WRITER, z=each, lower=low, upper=high)} AS {each}"
                   for each, low, high in zip(z, lower, upper, strict=True)]
        stages.append(_stage("rff_within", ["id", *clipped], "rff_any"))
        features, source = z, "rff_within"
    centers = [part.arrays["center"].tolist() for part in function.parts if "center" in part.arrays]
    apart = [f"{feature.split()[0]} - {_number(center)} AS u{j}"
             for each in centers[:1] for j, (feature, center) in enumerate(zip(features, each, strict=True))]
    stages.append(_stage("rff_row", ["id", *features, *apart], source))
    # A row that lacks a number gets nothing.
    absent = "0e0 * " + _sum(z)
    sums = [f"SELECT id, {', '.join(f'{_number(b)} + {absent}' for b in function.intercept.tolist())} FROM rff_row"]
    for part in function.parts:
        named, summed = part.of_kind(_PARTS)(part, n_outputs)
        stages += named
        sums.append(summed)
    outputs = _columns("h", n_outputs)
    stages.append(f"rff_sums (id, {', '.join(outputs)}) AS (\n" + "\nUNION ALL\n".join(sums) + ")")
    stages.append(_stage("rff_scores", ["id", *(f"CASE WHEN COUNT({h}) = COUNT(*) THEN SUM({h}) END AS {h}"
                                                for h in outputs)], "rff_sums GROUP BY id"))
    labels = function.answer.labels
    if labels is not None and len(labels) > 2:
        stages.append(_stage("rff_odds", ["*", *(f"{_answer(function, h)} AS o{k}" for k, h in enumerate(outputs))],
                             "rff_scores"))
    columns = [f"id AS {quoted(key)}", *(_predictions if labels is None else _classes)(function, outputs)]
    source = "rff_scores" if labels is None or len(labels) == 2 else "rff_odds"
    if function.intervals is not None:
        stages += _ends(function, function.intervals, outputs)
        several = len(function.intervals.ends) > 1
        columns += [f"{_WRITER.call(pick, f'lower{k}', f'upper{k}')} AS {name}{f'_{k}' * several}"
                    for k in range(len(function.intervals.ends)) for name, pick in (("lower", "min"), ("upper", "max"))]
        source = "rff_ends"
    return "\n".join([f"-- {function.title}, as rffkern exported it.", *(f"-- It reads {note}." for note in notes),
                      "WITH", ",\n".join(stages), f"SELECT {', '.join(columns)}", f"FROM {source};", ""])


# --- raw columns

def cells_read(columns: Iterable[tuple[str, Column | FittedColumn]], shown: Callable[[str], str] = repr) -> list[str]:
    """What the statement reads in columns where Python reads more; names that share it stand together."""
    groups: dict[str, list[str]] = {}
    for name, column in columns:
        reading = column.reading
        if reading.kind == DATE:
            order = {"dmy": ", 2024/3/31 or 31.3.2024 (day first)", "mdy": ", 2024/3/31 or 3/31/2024 (month first)"}
            known = f"dates as DATE, TIMESTAMP, ISO text{order.get(reading.format, ' or 2024/3/31')}"
        elif reading.format in ("time", "duration"):
            known = "numbers of seconds"
        elif reading.decimal == ",":
            known = "numbers, and text with a decimal comma (without one, a point is a decimal point)"
        else:
            continue
        groups.setdefault(known, []).append(shown(name))
    return [f"{', '.join(group)}: {known}; other text counts as missing" for known, group in groups.items()]


def _raw(function: Function, table: str, key: str) -> Iterator[str]:
    """Table rff_x of the values of the columns that are read: numbers, seconds of dates and places of levels."""
    names = [f"t.{quoted(name)}" for name in function.column_names()]
    if function.mapping is None:
        columns = [f"{_cast(name)} AS x{j}" for j, name in enumerate(names)]
        yield _stage("rff_x", [f"t.{quoted(key)} AS id", *columns], f"{table} t")
        return
    used = {output.column for output in function.mapping.outputs}.union(
        *(pair for _, *pair in function.mapping.values.differences))
    kinds = {j: function.mapping.columns[j] for j in sorted(used)}
    dates, categories = ([j for j, column in kinds.items() if column.kind == kind] for kind in (DATE, CATEGORY))
    plain = {chr(mark): chr(other) if other else "" for mark, other in PLAIN_MARKS.items()}
    signs = {mark: plain[mark] for mark in "年月日"}
    texts = {j: f"{_replaced(_trimmed(names[j]), signs if j in dates else {})} AS t{j}" for j in [*dates, *categories]}
    numbers = {j: column.reading for j, column in kinds.items() if column.kind == NUMERIC}
    written = [f"{names[j]} AS v{j}, {_replaced(_trimmed(names[j]), plain)} AS t{j}" for j in numbers]
    unread = [j for j, column in kinds.items() if column.kind == EMPTY]
    yield _stage("rff_t", [f"t.{quoted(key)} AS id", *texts.values(), *written,
                           *(f"CAST(NULL AS double precision) AS x{j}" for j in unread)], f"{table} t")
    source, read = "rff_t", [f"x{j}" for j in unread]  # columns whose values are there
    if numbers:
        yield from _numbers(numbers, [*read, *(f"t{j}" for j in texts)])
        source, read = "rff_numbers", [*read, *(f"x{j}" for j in numbers)]
    if dates:
        yield from _iso_dates({j: kinds[j].reading.format for j in dates}, source)
        parts = [part for j in dates for part in _parts_of_date(f"iso{j}", str(j))]
        yield _stage("rff_parts", ["*", *parts], "rff_iso")
        source, kept = "rff_dates", [f"t{j}" for j in categories]
        yield _stage(source, ["id", *read, *kept, *(f"{_seconds(str(j))} AS x{j}" for j in dates)], "rff_parts")
        read += [f"x{j}" for j in dates]
    for i in range(0, len(categories), _MOST_JOINED):
        block, kept = categories[i : i + _MOST_JOINED], [f"t{j}" for j in categories[i + _MOST_JOINED :]]
        for j in block:
            yield from _levels(kinds[j], j)
        joined = " ".join(f"LEFT JOIN rff_levels{j} ON t{j} = text{j}" for j in block)
        yield _stage(f"rff_read{i}", ["id", *read, *kept, *(f"{_place(kinds[j], j)} AS x{j}" for j in block)],
                     f"{source} {joined}")
        source = f"rff_read{i}"
        read += [f"x{j}" for j in block]
    apart = "".join(f", x{j} - x{other} AS x{value}" for value, j, other in function.mapping.values.differences)
    yield f"rff_x AS (SELECT *{apart} FROM {source})"


def _trimmed(name: str) -> str:
    return f"TRIM(CAST({name} AS varchar), {_literal(BLANKS)})"


def _cast(name: str) -> str:
    """A column as numbers; NULL for other text, of which SQLite makes 0 or a number of how it begins, and for nan."""
    text = _trimmed(name)
    return (f"CASE WHEN {text} <> '' AND TRIM({text}, '0123456789.eE+-') = '' THEN CAST({name} AS double precision) "
            f"WHEN {text} = 'true' THEN 1e0 WHEN {text} = 'false' THEN 0e0 END")


def _replaced(text: str, marks: Mapping[str, str]) -> str:
    for mark, other in marks.items():
        text = f"REPLACE({text}, {_literal(mark)}, {_literal(other)})"
    return text


def _shape(text: str) -> str:
    """A text in which every digit is 0."""
    return _replaced(text, dict.fromkeys("123456789", "0"))


def _numbers(readings: Mapping[int, Reading], others: Sequence[str]) -> Iterator[str]:
    """Table rff_numbers: of columns v, or of their texts t with marks of thousands, per cent, signs and the unit.

    Of a text the digits and marks alone are n; in s each digit is 0, and a group of thousands behind its mark is k.
    """
    marks = {j: reading.decimal for j, reading in readings.items() if reading.format not in ("time", "duration")}
    others_of = {j: "." if decimal == "," else "," for j, decimal in marks.items()}
    unsigned = [f"{_unsigned(_trimmed(f'v{j}'))} AS u{j}" for j in readings]
    yield _stage("rff_unsigned", ["*", *unsigned, *(f"TRIM(t{j}, '()+- ') AS a{j}" for j in marks)], "rff_t")
    bodies, shapes = [], []
    for j, other in others_of.items():
        units = [unit for unit in _cases(readings[j].unit) if unit]
        cases = [f"WHEN substr(a{j}, length(a{j}) - {len(each) - 1}) = {_literal(each)} "
                 f"THEN substr(a{j}, 1, length(a{j}) - {len(each)})" for each in (*units, "%")]
        cases += [f"WHEN substr(a{j}, 1, {len(each)}) = {_literal(each)} THEN substr(a{j}, {len(each) + 1})"
                  for each in units]
        body = f"TRIM(CASE {' '.join(cases)} ELSE a{j} END, '+- ')"
        bodies.append(f"{_replaced(body, {' ': other, chr(39): other})} AS n{j}")
        shape = _replaced(_shape(f"n{j}"), {f"{other}000": "k"})
        for _ in range(4):  # of two digits in India
            shape = _replaced(shape, {f"{other}00k": "kk"})
        shapes.append(f"{shape} AS s{j}")
    yield _stage("rff_bodies", ["*", *bodies], "rff_unsigned")
    yield _stage("rff_shapes", ["*", *shapes], "rff_bodies")
    values = []
    for j in readings:
        # A number is taken as it is, of which SQLite writes 15 digits, and a text without blanks that DuckDB refuses.
        cases = [f"WHEN {_is_plain(f'u{j}')} AND CAST(v{j} AS varchar) = t{j} THEN CAST(v{j} AS double precision)",
                 f"WHEN {_is_plain(f'u{j}')} THEN CAST(t{j} AS double precision)", f"WHEN t{j} = 'true' THEN 1e0",
                 f"WHEN t{j} = 'false' THEN 0e0"]
        if j in marks:
            groups, decimal = f"LTRIM(s{j}, '0')", marks[j]
            tail, n_first = f"LTRIM({groups}, 'k')", f"length(s{j}) - length({groups})"
            is_one = (f"s{j} NOT IN ('', '{decimal}') AND TRIM(n{j}, '0123456789.,') = '' "
                      f"AND ({tail} = '' OR RTRIM({tail}, '0') = '{decimal}') "
                      f"AND ({groups} NOT LIKE 'k%' OR ({n_first} BETWEEN 1 AND 3 AND n{j} NOT LIKE '0%'))")
            scale = f"CASE WHEN substr(a{j}, length(a{j})) = '%' THEN 'e-2' ELSE '' END"
            sign = (f"CASE WHEN t{j} LIKE '(%' OR t{j} LIKE '%-%' AND substr(t{j}, length(t{j}) - 1) NOT IN "
                    "(',-', '.-') THEN -1e0 ELSE 1e0 END")
            digits = _replaced(f"n{j}", {others_of[j]: "", decimal: "."})
            cases.append(f"WHEN {is_one} THEN {sign} * CAST({digits} || {scale} AS double precision)")
        values.append(f"CASE {' '.join(cases)} END AS x{j}")
    yield _stage("rff_numbers", ["id", *others, *values], "rff_shapes")


def _unsigned(text: str) -> str:
    """A number without its sign and that of its exponent."""
    return f"LTRIM({_replaced(f'LOWER({text})', {'e-': 'e', 'e+': 'e'})}, '+-')"


def _is_plain(u: str) -> str:
    """Whether such a text is a plain number: of any other, SQLite makes 0 or a number of how it begins."""
    return (f"TRIM({u}, '0123456789.e') = '' AND TRIM({u}, 'e') = {u} AND TRIM({u}, '.') <> '' "
            f"AND {u} NOT LIKE '%.%.%' AND {u} NOT LIKE '%e%e%'")


def _cases(unit: str) -> list[str]:
    """A unit, which is in lower case, as it may be written."""
    return [*dict.fromkeys((unit, unit.upper(), unit.capitalize()))]


def _iso_dates(orders: Mapping[int, str], source: str) -> Iterator[str]:
    """Table rff_iso, where iso are dates as ISO text: also those of numbers such as 2021/10/16, 2021-10 or 16.10.2021.

    The order of day and month is that of training.  q are the first characters, in which every digit is 0 and every
    separator the same, day the date, rest what is behind it, and clock that with two digits of the hour.
    """
    shapes = (_replaced(_shape(f"substr(t{j}, 1, 10)"), {"/": "-", ".": "-"}) for j in orders)
    yield _stage("rff_shaped", ["*", *(f"{shape} AS q{j}" for j, shape in zip(orders, shapes, strict=True))],
                 source)
    parts, ends = [], []
    for j, order in orders.items():
        forms = [("ymd", (4, a, b)) for a in (2, 1) for b in (2, 1)]
        forms += [(order, (a, b, year)) for year in (4, 2) for a in (2, 1) for b in (2, 1)] if order else []
        days, rests = [f"WHEN q{j} = '0000-00' THEN t{j} || '-01'"], [f"WHEN q{j} = '0000-00' THEN ''"]
        for names, sizes in forms:
            part, start = {}, 1
            for name, size in zip(names, sizes, strict=True):
                part[name] = "'0' || " * (size == 1) + f"substr(t{j}, {start}, {size})"
                start += size + 1
            if sizes[2] == 2 and names != "ymd":
                part["y"] = f"CASE WHEN {part['y']} < '{FIRST_YEAR_OF_1900}' THEN '20' ELSE '19' END || {part['y']}"
            begins = f"WHEN q{j} LIKE '{'-'.join('0' * size for size in sizes)}%' THEN"
            days.append(f"{begins} {part['y']} || '-' || {part['m']} || '-' || {part['d']}")
            rests.append(f"{begins} LTRIM(substr(t{j}, {start - 1}), ',')")
        parts += [f"CASE {' '.join(days)} END AS day{j}", f"CASE {' '.join(rests)} END AS rest{j}"]
        clock = _shape(f"substr(rest{j}, 1, 6)")
        ends.append(f"CASE WHEN {clock} IN (' 00:00', 'T00:00') THEN rest{j} WHEN {clock} LIKE ' 0:00%' THEN ' 0' || "
                    f"substr(rest{j}, 2) END AS clock{j}")
    yield _stage("rff_parted", ["*", *parts], "rff_shaped")
    yield _stage("rff_padded", ["*", *ends], "rff_parted")
    found = []
    for j in orders:
        hour = f"substr(clock{j}, 2, 2)"
        hour = (f"CASE WHEN UPPER(rest{j}) LIKE '%A%' THEN REPLACE({hour}, '12', '00') WHEN {hour} = '12' THEN {hour} "
                f"ELSE CAST(CAST({hour} AS integer) + 12 AS varchar) END")
        of_half = (f"CASE WHEN substr(clock{j}, 2, 2) BETWEEN '01' AND '12' AND RTRIM(UPPER(rest{j}), '.') LIKE '%M' "
                   f"THEN day{j} || ' ' || {hour} || RTRIM(substr(clock{j}, 4), 'APMapm. ') END")
        found.append(f"CASE WHEN t{j} LIKE '____-__-__%' OR day{j} IS NULL THEN t{j} WHEN rest{j} = '' THEN day{j} "
                     f"WHEN REPLACE(UPPER(rest{j}), 'GMT', '') LIKE '%M%' THEN {of_half} ELSE day{j} || clock{j} END "
                     f"AS iso{j}")
    yield _stage("rff_iso", ["*", *found], "rff_padded")


def _levels(column: Column, j: int) -> Iterator[str]:
    """A table of texts and the places of the levels that they mean, -1 where missing."""
    rows = (f"({_literal(text)}, {-1 if place != place else int(place)})" for text, place in column.texts().items())
    yield f"rff_levels{j} (text{j}, place{j}) AS (VALUES\n" + ",\n".join(rows) + ")"


def _place(column: Column, j: int) -> str:
    """The value of a category, given what is found among its levels."""
    other = "NULL" if column.other != column.other else _number(column.other)
    return (f"CASE WHEN t{j} IS NULL THEN NULL WHEN place{j} IS NULL THEN {other} WHEN place{j} >= 0 "
            f"THEN CAST(place{j} AS double precision) END")


def _parts_of_date(t: str, j: str) -> Iterator[str]:
    """Year, month, day, seconds of the day less the zone, and their fraction, of a date or ISO text; or seconds."""
    for name, start, size in (("y", 1, 4), ("m", 6, 2), ("d", 9, 2)):
        part = f"CAST(CAST(substr({t}, {start}, {size}) AS integer) AS double precision)"
        yield f"CASE WHEN {t} LIKE '____-__-__%' THEN {part} END AS {name}{j}"
    zone = f"TRIM(LTRIM(substr({t}, 17), ':.0123456789'))"
    sign = f"CASE WHEN {zone} LIKE '-%' THEN 1e0 ELSE -1e0 END"
    minutes = f"CAST('0' || REPLACE(substr({zone}, 4), ':', '') AS integer)"
    offset = (f"CASE WHEN {zone} LIKE '+%' OR {zone} LIKE '-%' THEN {sign} * (3600e0 * CAST(substr({zone}, 2, 2) AS "
              f"integer) + 60e0 * {minutes}) ELSE 0e0 END")
    fraction = f"substr({t}, 20, length(substr({t}, 20)) - length(LTRIM(substr({t}, 20), '.0123456789')))"
    seconds = (f"CASE WHEN substr({t}, 17, 1) = ':' THEN CAST(CAST(substr({t}, 18, 2) AS integer) AS double precision) "
               f"ELSE 0e0 END")
    clock = (f"3600e0 * CAST(substr({t}, 12, 2) AS integer) + 60e0 * CAST(substr({t}, 15, 2) AS integer) + {seconds} "
             f"+ {offset}")
    yield f"CASE WHEN {t} LIKE '____-__-__ __:__%' OR {t} LIKE '____-__-__T__:__%' THEN {clock} ELSE 0e0 END AS c{j}"
    yield f"CASE WHEN {t} LIKE '____-__-__ __:__:__._%' OR {t} LIKE '____-__-__T__:__:__._%' " \
          f"THEN CAST('0' || {fraction} AS double precision) ELSE 0e0 END AS f{j}"
    yield (f"CASE WHEN {_is_plain(_unsigned(t))} "
           f"THEN CAST({t} AS double precision) END AS s{j}")


def _seconds(j: str) -> str:
    """Seconds since 1970; NULL for days that do not exist.  Years begin in March, so that a leap day is their last."""
    y, m, d = f"y{j}", f"m{j}", f"d{j}"
    leap = f"{y} - 4e0 * floor({y} / 4e0) = 0 AND ({y} - 100e0 * floor({y} / 100e0) <> 0 OR " \
           f"{y} - 400e0 * floor({y} / 400e0) = 0)"
    last = f"CASE WHEN {m} = 2 THEN CASE WHEN {leap} THEN 29 ELSE 28 END WHEN {m} IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
    year = f"({y} - CASE WHEN {m} > 2 THEN 0e0 ELSE 1e0 END)"
    days = (f"365e0 * {year} + floor({year} / 4e0) - floor({year} / 100e0) + floor({year} / 400e0) "
            f"+ floor((153e0 * ({m} + CASE WHEN {m} > 2 THEN -3e0 ELSE 9e0 END) + 2e0) / 5e0) + {d} - 719469e0")
    return (f"CASE WHEN s{j} IS NOT NULL THEN s{j} WHEN {y} >= 1 AND {m} BETWEEN 1 AND 12 AND {d} BETWEEN 1 AND {last} "
            f"THEN ({days}) * 86400e0 + c{j} + f{j} END")


# --- mapped columns

_DAYS = "weekday", "yearday"  # outputs whose place in their table is computed


def _mapped(mapping: RowMap) -> Iterator[str]:
    """Tables rff_places of days, rff_m, of which missing values are neutral, and rff_z."""
    outputs, source = _columns("z", len(mapping.outputs)), "rff_x"
    days = sorted({(output.source, output.kind) for output in mapping.outputs if output.kind in _DAYS})
    if days:  # once, not in each branch of a search
        places = [f"{write(PLACES[kind], _WRITER, x=f'x{j}')} AS {kind}{j}" for j, kind in days]
        yield _stage("rff_places", ["*", *places], source)
        source = "rff_places"
    kept = sorted({mapping.outputs[imputation.output].column for imputation in mapping.imputations})
    yield _stage("rff_z" if not kept else "rff_m", ["id", *(f"x{j}" for j in kept), *(
        f"{_form(output)} AS {z}" for z, output in zip(outputs, mapping.outputs, strict=True))], source)
    if not kept:
        return
    for imputation in mapping.imputations:
        terms = [f"{_number(factor)} * (z{k} - {_exact(mapping.neutral[k])})"
                 for k, factor in zip(imputation.predictors.tolist(), imputation.factors.tolist(), strict=True)]
        imputed = _WRITER.call("add", _exact(mapping.neutral[imputation.output]), _sum(terms))
        held = _WRITER.call("min", _exact(imputation.high), _WRITER.call("max", _exact(imputation.low), imputed))
        z = outputs[imputation.output]
        column = mapping.outputs[imputation.output].column
        outputs[imputation.output] = f"CASE WHEN x{column} IS NULL THEN {held} ELSE {z} END AS {z}"
    yield _stage("rff_z", ["id", *outputs], "rff_m")


def _form(output: Output) -> str:
    """A mapped column."""
    x = f"x{output.source}"
    if output.kind in PLACES:
        place, heights = f"{output.kind}{output.source}" if output.kind in _DAYS else x, output.heights.tolist()
        value = _search(place, [f"{k}e0" for k in range(1, len(heights))], [*map(_exact, heights)])
    elif output.kind == "rank":
        value = _pieces(x, output.knots.tolist(), output.heights.tolist())
    else:
        bounds = {name: _exact(value) if math.isfinite(value) else _number(math.copysign(1e308, value))
                  for name, value in zip("abcd", output.numbers, strict=False)}
        value = write(FORMS[output.kind], _WRITER, x=x, **bounds)
    value = f"CASE WHEN {x} IS NULL THEN {_exact(output.missing)} ELSE {value} END"
    return value if output.divisor == 1 else f"{value} / ({_exact(output.divisor)})"


def _pieces(x: str, knots: Sequence[float], heights: Sequence[float]) -> str:
    """The piecewise linear function through knots and heights, constant beyond them."""
    slopes = [(heights[i + 1] - heights[i]) / (knots[i + 1] - knots[i]) for i in range(len(knots) - 1)]
    pieces = [write(FORMS["rank"], _WRITER, x=x, knot=_exact(knot), height=_exact(height), slope=_exact(slope))
              for knot, height, slope in zip(knots, heights, slopes, strict=False)]
    return _search(x, [*map(_exact, knots)], [_exact(heights[0]), *pieces, _exact(heights[-1])])


def _columns(prefix: str, size: int) -> list[str]:
    return [f"{prefix}{i}" for i in range(size)]


def _terms(rows: Array, n_outputs: int, name: str, columns: Sequence[str], values: Sequence[str],
           region: str = "") -> _Summed:
    """Every row with every term and what it is worth, v: expressions one after the other, which may read v before.

    With regions, the first column is that of the term, and a row has the terms of its own.
    """
    weights = _columns("a", n_outputs)
    source = f"rff_row CROSS JOIN {name}"
    if region:
        source = f"(SELECT rff_row.*, {region} AS own FROM rff_row) r JOIN {name} ON own = region"
    for value in values:
        source = f"(SELECT id, {value} AS v, {', '.join(weights)} FROM {source}) p"
    return ([*_values(name, [*["region"] * bool(region), *columns, *weights], rows.tolist(), bool(region))],
            f"SELECT id, {', '.join(f'v * {weight}' for weight in weights)} FROM {source}")


def _fourier(part: Part, n_outputs: int) -> _Summed:
    omegas, phases, amplitudes, _ = part.arrays.values()
    read = np.flatnonzero(omegas.any(axis=0))
    angle = _sum([f"w{i} * u{j}" for i, j in enumerate(read.tolist())]) + " - p"
    return _terms(np.column_stack([omegas[:, read], phases, amplitudes]), n_outputs, "rff_cosines",
                  [*_columns("w", len(read)), "p"], [f"cos({angle})"])


def _kernels(part: Part, n_outputs: int) -> _Summed:
    centers, weights, inverse_length_scales, *regions = part.arrays.values()
    read = np.flatnonzero(inverse_length_scales)
    apart = [f"((z{j} - c{i}) * {_number(inverse_length_scales[j].item())})" for i, j in enumerate(read.tolist())]
    rows = [centers[:, read], weights]
    if regions:
        columns, thresholds, starts = regions
        rows.insert(0, np.repeat(np.arange(part.n_regions), np.diff(starts)))
    return _terms(np.column_stack(rows), n_outputs, "rff_kernels", _columns("c", len(read)),
                  [_sum([f"{each} * {each}" for each in apart]), write(KERNELS[part.shape], _WRITER, q="v")],
                  _region(columns.tolist(), [*map(_exact, thresholds.tolist())]) if regions else "")


def _region(columns: Sequence[int], thresholds: Sequence[str], node: int = 0) -> str:
    """The region of a row, below a node of the tree."""
    if node >= len(columns):
        return str(node - len(columns))
    left, right = (_region(columns, thresholds, child) for child in (2 * node + 1, 2 * node + 2))
    return f"CASE WHEN z{columns[node]} > {thresholds[node]} THEN {right} ELSE {left} END"


def _linear(part: Part, n_outputs: int) -> _Summed:
    coefficients = part.arrays["coefficients"].tolist()
    sums = [_sum([write(LINE, _WRITER, coefficient=_number(each[k]), x=f"u{j}") for j, each in enumerate(coefficients)
                  if each[k]]) for k in range(n_outputs)]
    return [], f"SELECT id, {', '.join(sums)} FROM rff_row"


def _trees(part: Part, n_outputs: int) -> _Summed:
    columns, thresholds, steps, starts, values = (array.tolist() for array in part.arrays.values())
    leaves = [_sum([str(start), *(f"CASE WHEN z{j} > {_exact(threshold)} THEN {step} ELSE 0 END"
                                  for j, threshold, step in zip(*splits, strict=True) if step)])
              for start, *splits in zip(starts, columns, thresholds, steps, strict=True)]
    found = _search("t", [str(t) for t in range(1, len(starts))], leaves)
    stages = [f"rff_tables (t) AS (VALUES {', '.join(f'({t})' for t in range(len(starts)))})",
              _stage("rff_found", ["id", f"{found} AS found"], "rff_row CROSS JOIN rff_tables")]
    numbered, weights, sums = np.column_stack([np.arange(len(values)), values]).tolist(), _columns("a", n_outputs), []
    for first in range(0, len(values), _MOST_INDEXED):
        name = f"rff_leaves{first}"
        stages += _values(name, ["leaf", *weights], numbered[first : first + _MOST_INDEXED], 1)
        sums.append(f"SELECT id, {', '.join(weights)} FROM rff_found CROSS JOIN {name} WHERE leaf = found")
    return stages, "\nUNION ALL\n".join(sums)


_PARTS = {"fourier": _fourier, "linear": _linear, "trees": _trees, "kernels": _kernels}


def _answer(function: Function, h: str) -> str:
    """What the formula of the answer makes of a score."""
    numbers = {name: _number(value) for name, value in function.answer.numbers.items()}
    return write(function.answer.formula, _WRITER, h=h, **numbers)


def _predictions(function: Function, outputs: Sequence[str]) -> Iterator[str]:
    """Columns of the result of all but classifiers."""
    if function.answer.least:
        yield f"{_chosen(outputs, outputs, '<=')} AS prediction"
    elif len(outputs) == 1:
        yield f"{_answer(function, outputs[0])} AS prediction"
    else:
        yield from (f"{_answer(function, h)} AS prediction_{k}" for k, h in enumerate(outputs))


def _ends(function: Function, intervals: Intervals, outputs: Sequence[str]) -> Iterator[str]:
    """Tables of what intervals are around, and of their ends."""
    around = [*outputs] if intervals.of_scores else [_answer(function, h) for h in outputs]
    yield _stage("rff_around", ["*", *(f"{each} AS f{k}" for k, each in enumerate(around))], "rff_scores")
    ends = []
    for k, pair in enumerate(intervals.ends):
        for name, end in zip(("lower", "upper"), pair, strict=True):
            f, knots, spreads = f"f{end.output}", [*map(float, end.knots)], [*map(float, end.spreads)]
            value = f"{f} + {_exact(end.factor)} * {_pieces(f, knots, spreads)}"
            value = _WRITER.call("max", "0e0", f"({value})") if intervals.is_positive else value
            ends.append(f"{value} AS {name}{k}")
    yield _stage("rff_ends", ["*", *ends], "rff_around")


def _classes(function: Function, outputs: Sequence[str]) -> Iterator[str]:
    """The most likely label, probabilities and scores."""
    given = function.answer.labels or []
    # SQLite makes floats of integers of more than 64 bits.
    labels = [*map(_literal, map(str, given) if function.answer.are_whole and not function.answer.fit_int64 else given)]
    if len(labels) == 2:
        yield f"CASE WHEN h0 > 0 THEN {labels[1]} WHEN h0 <= 0 THEN {labels[0]} END AS label"
        positive = _answer(function, "h0")
        probabilities = [f"1e0 - {positive}", positive]
    else:
        yield f"{_chosen(outputs, labels, '>=')} AS label"
        odds = _columns("o", len(labels))
        probabilities = ["1e0 / " + _sum([write("exp(min(700, a - b))", _WRITER, a=other, b=own) for other in odds])
                         for own in odds]
    names = [quoted(f"probability_{label}") for label in given]
    yield from (f"{value} AS {name}" for value, name in zip(probabilities, names, strict=True))
    yield from (f"{h} AS {'score' if len(outputs) == 1 else f'score_{k}'}" for k, h in enumerate(outputs))


def _chosen(outputs: Sequence[str], results: Sequence[str], sign: str) -> str:
    """The result of the first output that is the largest or least."""
    cases = [f"WHEN {' AND '.join(f'{h} {sign} {other}' for other in outputs[k + 1 :])} THEN {result}"
             for k, (h, result) in enumerate(zip(outputs[:-1], results, strict=False))]
    return f"CASE WHEN {outputs[0]} IS NULL THEN NULL {' '.join(cases)} ELSE {results[-1]} END"
