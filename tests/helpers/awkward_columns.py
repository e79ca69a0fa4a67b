"""Awkward columns of text, made by rules: numbers, dates and truth values as people and programs write them.

Run as a script, it writes them into a folder: `python awkward_columns.py FOLDER`.
"""

import datetime
import itertools
import pathlib
import sys
from typing import NamedTuple

ROWS = 40


class Column(NamedTuple):
    """Cells of a column and what they mean."""

    name: str
    cells: list[str]
    kind: str  # numeric, date or category
    values: list  # numbers, seconds since 1970 or levels; None where missing
    remark: str = ""  # a part of the warning, if there is one


_NUMBERS = [(-1) ** k * (k * k * 37 + 5) / 4 for k in range(ROWS)]  # of two digits after the point
_LARGE = [123_456.25 + 4_321_000.5 * k for k in range(ROWS)]
_START = datetime.datetime(2021, 1, 13, 7, 5, 9)
_MOMENTS = [_START + datetime.timedelta(days=11 * k, hours=5 * k, minutes=7 * k, seconds=k) for k in range(ROWS)]
_EPOCH = datetime.datetime(1970, 1, 1)

_MISSING = ["", "NA", "n/a", "nan", "NULL", "None", "?", " ", "<NA>", "#N/A"]


def _grouped(value, digits, thousands, decimal):
    text = f"{abs(value):,.{digits}f}"
    return text.replace(",", "T").replace(".", decimal).replace("T", thousands)


def _numbers():
    """Every combination of decimal mark, marks of thousands, and what stands around the number."""
    marks = [(".", ""), (".", ","), (".", " "), (".", "'"), (".", "\u00a0"), (",", ""), (",", "."), (",", " "),
             (",", "\u202f"), (",", "\u2019")]
    around = {"bare": "{}", "dollar": "${}", "euro": "{} €", "pound": "£{}", "code": "USD {}", "code after": "{} CHF",
              "unit": "{} kg", "joined unit": "{}km", "degrees": "{}°C", "blanks": "  {} "}
    for (decimal, thousands), (what, form) in itertools.product(marks, around.items()):
        cells = [("-" if value < 0 else "") + form.format(_grouped(value, 2, thousands, decimal)).strip()
                 if what != "blanks" else f"  {'-' if value < 0 else ''}{_grouped(value, 2, thousands, decimal)} "
                 for value in _NUMBERS]
        yield Column(f"numbers {what} {decimal}{thousands}", cells, "numeric", _NUMBERS)
        cells = [form.format(_grouped(value, 2, thousands, decimal)) for value in _LARGE]
        if what in ("bare", "euro"):
            yield Column(f"large numbers {what} {decimal}{thousands}", cells, "numeric", _LARGE)
    for decimal, thousands in marks:
        accounting = [f"({_grouped(value, 2, thousands, decimal)})" if value < 0
                      else _grouped(value, 2, thousands, decimal) for value in _NUMBERS]
        yield Column(f"accounting {decimal}{thousands}", accounting, "numeric", _NUMBERS)
        trailing = [_grouped(value, 2, thousands, decimal) + "-" * (value < 0) for value in _NUMBERS]
        yield Column(f"trailing minus {decimal}{thousands}", trailing, "numeric", _NUMBERS)
    for what, form in (("repr", repr), ("exponent", "{:.10e}".format), ("plus", "{:+.2f}".format),
                       ("minus sign", lambda value: f"{value:.2f}".replace("-", "\u2212")),
                       ("dash", lambda value: f"{value:.2f}".replace("-", "\u2013")),
                       ("capital exponent", "{:.10E}".format),
                       ("bare point", lambda value: f"{value:.2f}".rstrip("0"))):
        yield Column(f"numbers {what}", [form(value) for value in _NUMBERS], "numeric", _NUMBERS)
    for blank in ("", " "):
        percent = [float(f"{value:.2f}e-2") for value in _NUMBERS]
        yield Column(f"per cent {blank}%", [f"{value:.2f}{blank}%" for value in _NUMBERS], "numeric", percent)
        yield Column(f"per cent with comma {blank}%", [f"{value:.2f}{blank}%".replace(".", ",") for value in _NUMBERS],
                     "numeric", percent)
    yield Column("codes with zeros", [f"{k:05d}" for k in range(ROWS)], "numeric", [*map(float, range(ROWS))],
                 remark="leading zeros, such as '00000'")
    yield Column("lakhs", [f"{1 + k},23,456.75" for k in range(9)] * 4, "numeric",
                 [123456.75 + 100_000 * k for k in range(9)] * 4)
    yield Column("integers of thousands", [f"{k},500" for k in range(1, ROWS)], "numeric",
                 [1000.0 * k + 500 for k in range(1, ROWS)])
    for name, form in (("thousands", "{}k"), ("rupees", "₹{}"), ("Rs.", "Rs. {}"), ("point at the end", "{}."),
                       ("blanks of typography", "\u00a0{}\u2009"), ("tabs", "\t{}"), ("line breaks", "{}\n"),
                       ("sign apart", "+ {}"), ("months", "{} months"), ("square metres", "{} m²"),
                       ("litres", "{} l/h"), ("Chinese thousands", "{}千"), ("Swiss prices", "CHF {}.\u2013"),
                       ("zeros before", "000{}"), ("exponent", "{}E+00")):
        yield Column(f"whole numbers {name}", [form.format(k) for k in range(ROWS)], "numeric",
                     [*map(float, range(ROWS))], "leading zeros, such as '0000'" if name == "zeros before" else "")
    for name, form in (("before currency", "-${:.2f}"), ("after currency", "$-{:.2f}"), ("brackets", "(${:.2f})")):
        yield Column(f"minus {name}", [form.format(k) for k in range(1, ROWS)], "numeric",
                     [-float(k) for k in range(1, ROWS)])
    yield Column("a unit in any case", [f"{k}kg" if k % 2 else f"{k} KG" for k in range(ROWS)], "numeric",
                 [*map(float, range(ROWS))])
    yield Column("per cent and shares", [f"{k}%" if k % 2 else f"{k / 100}" for k in range(ROWS)], "numeric",
                 [k / 100 for k in range(ROWS)])
    for k, word in enumerate(_MISSING):
        cells = [word if i % 4 == 1 else f"{value:.2f}" for i, value in enumerate(_NUMBERS)]
        values = [None if i % 4 == 1 else value for i, value in enumerate(_NUMBERS)]
        yield Column(f"numbers with missing {k}", cells, "numeric", values)
        yield Column(f"euros with missing {k}", [cell if i % 4 == 1 else f"{cell} €" for i, cell in enumerate(cells)],
                     "numeric", values)


def _dates():
    """Every order, separator, width and time."""
    times = {"": None, " %H:%M": 60, " %H:%M:%S": 1, "T%H:%M:%S": 1, " %I:%M %p": 60, " %I:%M:%S%p": 1}
    orders = {"ymd": "%Y{0}%m{0}%d", "dmy": "%d{0}%m{0}%Y", "mdy": "%m{0}%d{0}%Y", "short dmy": "%d{0}%m{0}%y",
              "short mdy": "%m{0}%d{0}%y"}
    for (order, form), separator, (time, unit) in itertools.product(orders.items(), "-/.", times.items()):
        if order == "ymd" and separator == "-" and "%p" in time:
            continue  # ISO dates have ISO times
        pattern = form.format(separator) + time
        yield Column(f"dates {pattern}", [moment.strftime(pattern) for moment in _MOMENTS], "date", _seconds(unit))
        if order != "ymd" and not time:
            narrow = [separator.join(str(int(part)) if len(part) < 3 else part
                                     for part in moment.strftime(pattern).split(separator)) for moment in _MOMENTS]
            if "short" not in order:
                yield Column(f"narrow dates {pattern}", narrow, "date", _seconds(None))
    for pattern in ("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%d %B %Y", "%a, %d %b %Y",
                    "%A, %B %d, %Y", "%d %b %Y %H:%M", "%b %d %Y %I:%M %p", "%Y-%b-%d", "%d/%b/%Y",
                    "%a, %d %b %Y %H:%M:%S GMT"):
        unit = 1 if "%S" in pattern else 60 if "%M" in pattern else None
        yield Column(f"named dates {pattern}", [moment.strftime(pattern) for moment in _MOMENTS], "date",
                     _seconds(unit))
    names = {"German": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
             "French": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
             "Spanish": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
             "Italian": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"}
    for language, months in names.items():
        for form in ("{day} {month} {year}", "{day}. {month} {year}", "{day} de {month} de {year}"):
            cells = [form.format(day=moment.day, month=months.split()[moment.month - 1], year=moment.year)
                     for moment in _MOMENTS]
            yield Column(f"{language} dates {form}", cells, "date", _seconds(None))
    for zone, hours in (("Z", 0), ("+02:00", 2), ("-0530", -5.5), (" +01", 1)):
        cells = [f"{moment:%Y-%m-%d %H:%M:%S}{zone}" for moment in _MOMENTS]
        yield Column(f"zone {zone}", cells, "date", [value - 3600 * hours for value in _seconds(1)])
    fractions = [f"{moment:%Y-%m-%dT%H:%M:%S}.{k:03d}" for k, moment in enumerate(_MOMENTS)]
    yield Column("fractions", fractions, "date", [value + k / 1000 for k, value in enumerate(_seconds(1))])
    first = [datetime.datetime(moment.year, moment.month, 1) for moment in _MOMENTS]
    for pattern in ("%Y-%m", "%b %Y", "%B %Y"):
        yield Column(f"months {pattern}", [moment.strftime(pattern) for moment in first], "date",
                     [(moment - _EPOCH).total_seconds() for moment in first])
    for pattern, unit in (("%H:%M", 60), ("%H:%M:%S", 1), ("%I:%M %p", 60)):
        yield Column(f"times {pattern}", [moment.strftime(pattern) for moment in _MOMENTS], "numeric",
                     [value % 86400 for value in _seconds(unit)])
    spans = [90061 + 4000 * k for k in range(ROWS)]
    for name, form in (("clock", "{all_hours}:{m:02d}:{s:02d}"), ("pandas", "{d} days {h:02d}:{m:02d}:{s:02d}"),
                       ("ISO", "P{d}DT{h}H{m}M{s}S"), ("letters", "{d}d {h}h {m}m {s}s"),
                       ("joined", "{d}d{h}h{m}m{s}s"),
                       ("words", "{d} days, {h} hours, {m} min {s} seconds")):
        cells = [form.format(all_hours=span // 3600, d=span // 86400, h=span // 3600 % 24, m=span // 60 % 60,
                             s=span % 60) for span in spans]
        yield Column(f"durations {name}", cells, "numeric", [*map(float, spans)])
    yield Column("durations of mixed places", ["2h", "-1 days +23:00:00", "1h 30m", "P1DT2H", "-45 min", "1.5 s"] * 6,
                 "numeric", [7200.0, -3600.0, 5400.0, 93600.0, -2700.0, 1.5] * 6)
    early = [datetime.datetime(2020 + k % 4, 1 + k % 12, 1 + k % 11) for k in range(ROWS)]
    for separator in "/-":
        pattern = separator.join(("%m", "%d", "%Y"))
        yield Column(f"ambiguous {pattern}", [moment.strftime(pattern) for moment in early], "date",
                     [(moment - _EPOCH).total_seconds() for moment in early], "day and month could be exchanged")
    yield Column("ambiguous with points", [moment.strftime("%d.%m.%Y") for moment in early], "date",
                 [(moment - _EPOCH).total_seconds() for moment in early])
    for time, unit in (("", None), (" %H:%M", 60)):
        yield Column(f"dates with signs for year, month and day{time}", [
            moment.strftime(f"%Y\u5e74{moment.month}\u6708{moment.day}\u65e5{time}") for moment in _MOMENTS], "date",
            _seconds(unit))
    for k, word in enumerate(_MISSING):
        cells = [word if i % 5 == 2 else f"{moment:%d/%m/%Y}" for i, moment in enumerate(_MOMENTS)]
        values = [None if i % 5 == 2 else value for i, value in enumerate(_seconds(None))]
        yield Column(f"dates with missing {k}", cells, "date", values)


_OF_DURATIONS = ["", "", "-", "+", "p", "P", "t", "T", ":", ":05", ":59", ":60", ":5", ".", ".5", ".123456789", ".0",
                 ".1234567891", "0", "7", "12", "000000001", "999999999", "1234567890", " ", " ", ",", ", ", "w", "d",
                 "h", "m", "s", "D", "H", "M", "S", "weeks", "wk", "Days", "day", "hrs", "hour", "min", "Minutes",
                 "sec", "seconds", "x", "\u00a0", "\u202f", "\u2007", "\u2212", "\u212a", "\u0130", "\u0661", "\u00e9",
                 "\u3000", "e5"]


def some_durations(rng, n_texts):
    """Durations of all forms, and texts that are nearly such."""
    seen = [cell for column in _dates() if column.name.startswith("durations") for cell in column.cells]
    for _ in range(n_texts):
        if rng.random() < 0.4:
            yield "".join(_OF_DURATIONS[k] for k in rng.integers(len(_OF_DURATIONS), size=rng.integers(1, 9)))
            continue
        text = [*seen[rng.integers(len(seen))]]
        for _ in range(rng.integers(3)):
            place = int(rng.integers(len(text) + 1))
            text[place : place + int(rng.integers(2))] = _OF_DURATIONS[rng.integers(len(_OF_DURATIONS))]
        text = "".join(text)
        yield " " * int(rng.integers(2)) + (text.upper() if rng.random() < 0.2 else text) + " " * int(rng.integers(40))


def _seconds(unit):
    """Seconds of the moments, of their days, or cut to a unit."""
    return [float((moment - _EPOCH).days * 86400 if unit is None
                   else (moment - _EPOCH).total_seconds() // unit * unit) for moment in _MOMENTS]


def _booleans():
    words = [("False", "True"), ("false", "true"), ("FALSE", "TRUE"), ("no", "yes"), ("No", "Yes"), ("N", "Y"),
             ("f", "t"), ("nein", "ja"), ("Nein", "Ja"), ("falsch", "wahr"), ("non", "oui"), ("faux", "vrai"),
             ("no", "sí"), ("falso", "verdadero"), ("no", "sì"), ("falso", "vero"), (" no", "yes ")]
    for no, yes in words:
        chosen = [k * k % 3 == 1 for k in range(ROWS)]
        yield Column(f"truth {no} {yes}", [yes if each else no for each in chosen], "category",
                     [str(each) for each in chosen])
        yield Column(f"truth {no} {yes} and missing", ["NA" if k % 6 == 5 else yes if each else no
                                                       for k, each in enumerate(chosen)], "category",
                     [None if k % 6 == 5 else str(each) for k, each in enumerate(chosen)])


def _left_alone():
    """Columns that are neither, or not safely, and stay categories."""
    groups = {
        "colours": ["red", "blue", "light green"], "several units": ["12 kg", "3 lb", "5 kg"],
        "several currencies": ["$5", "€6", "$7"], "ordinals": ["1st", "2nd", "3rd", "4th"],
        "sizes": ["S", "M", "L", "XL"], "ranges": ["1-5", "6-10", "11-15"], "codes": ["A1", "B2", "C3"],
        "versions": ["1.2.3", "1.10.0", "2.0.1"], "addresses": ["192.168.0.1", "10.0.0.1"],
        "underscores": ["1_000", "2"],
        "hexadecimal": ["0x10", "0xff"], "more than": ["3+", "2", "1"], "below": ["<5", "5-10", ">10"],
        "mixed truth": ["yes", "ja", "no"], "truth and more": ["yes", "no", "maybe"],
        "no such day": ["2023-02-30", "2023-13-01"],
        "no such time": ["25:10", "12:99"], "both marks": ["1.5", "1,55", "2.25", "2,75"], "two signs": ["--1", "+-2"],
        "dates and words": ["2024-01-01", "soon", "later"], "numbers and words": ["1", "two", "3"],
        "dates and numbers": ["2024-01-01", "17", "18.5"], "full-width digits": ["\uff11\uff12", "\uff13"],
        "other digits": ["\u0661\u0662", "\u0663"], "days of both orders": ["13/01/2024", "01/13/2024", "02/14/2024"],
        "open brackets": ["(5", "6", "7"], "quarters": ["2024Q1", "2024Q2"], "dimensions": ["3x4", "5x6"],
        "fractions": ["1/2", "3/4"], "plates": ["AB 12", "CD 34"], "long text": ["word " * 30, "other " * 30],
        "ranges in words": ["1 to 4", "2 to 5"], "age bands": ["0-17", "18-34", "55+"], "halves": ["1½", "2½", "3"],
        "wholes and parts": ["1 1/2", "2 3/4"], "squares": ["1²", "2²"], "times with points": ["9.30 pm", "10.15 am"],
        "hours alone": ["9 pm", "10 am"], "versions with v": ["v1.2", "v1.10"], "thousands or not": ["1.2k", "900"],
        "telephones": ["(555) 123-0001", "(555) 123-0002"], "telephones abroad": ["+49 30 000001", "+44 20 000002"],
        "telephones with points": ["555.123.0001", "555.123.0002"], "social security": ["123-01-0037", "123-02-0074"],
        "millions": ["$1.5M", "$900K"], "below a limit": ["<5", "7", "9"], "above a limit": [">100", "50"],
        "about": ["~5", "~7"], "at least": ["10+", "20+"], "feet and inches": ["5'11\"", "6'2\""],
        "angles": ["52°31'12\"N", "13°24'18\"E"], "hemispheres": ["52.5N", "33.9S"], "debit": ["5.00 CR", "7.00 DR"],
        "per mille": ["5‰", "7‰"], "on and off": ["on", "off"], "yes in two ways": ["yes", "Y", "no"],
        "truth and digits": ["true", "1", "0"], "month and year": ["02/2021", "03/2021"], "no date": ["0000-00-00"],
        "day and month": ["2-Feb", "3-Mar"], "ISO weeks": ["2021-W02", "2021-W10"], "days of a year": ["2021-045"],
        "compact times": ["20210302T120000", "20210303T130000"],
        "Korean dates": ["2021년 2월 2일", "2021년 3월 3일"],
        "errors of sheets": ["#DIV/0!", "1.5", "2.5"], "short hashes": ["001eef", "003dde"], "quoted": ['"1"', '"2"'],
        "book numbers": ["978-3-16-148410-0", "978-3-16-148411-7"], "long post codes": ["12345-6789", "00501-0001"],
        "British post codes": ["SW1A 1AA", "EC1A 1BB"], "formulas": ['="1"', '="2"'], "apostrophes": ["'1", "'2"],
        "invisible letters": ["\u200b1", "\u200b2"], "byte order marks": ["\ufeff1", "\ufeff2"],
        "marks": ["3/5", "4/5"],
        "marks in words": ["3 out of 5", "4 out of 5"], "stars": ["*", "***"], "footnotes": ["5[1]", "7[2]"],
        "starred": ["5*", "7*"], "pressures": ["120/80", "110/70"], "ratios": ["2:1", "10:3"],
        "results": ["2-1", "0-0"],
        "paces": ["5:01/km", "4:30/km"], "places": ["52.5, 13.4", "48.1, 11.6"], "lists": ["[1, 2]", "[3, 4]"],
        "objects": ['{"a": 1}', '{"a": 2}'], "tolerances": ["5 ± 2", "7 ± 1"], "Roman numbers": ["I", "IV", "X"],
        "grades": ["A+", "B-"], "two scales": ["20°C", "68°F"], "singular and plural": ["1 year", "2 years"],
        "years of work": ["< 1 year", "3 years", "10+ years"], "years and months": ["2yrs 1mon", "3yrs 7mon"],
        "two sizes": ["1.5 MB", "200 KB"], "installations": ["1,000+", "10,000+"], "powers": ["1.5x10^3", "2.5x10^4"],
        "Fortran": ["1.5D+03", "2.5D+04"], "percentages of two kinds": ["5 percent", "7 pct"],
    }
    for name, cells in groups.items():
        repeated = [cells[k % len(cells)] for k in range(ROWS)]
        remarks = {"days of both orders": "with the month first, such as '01/13/2024'"} | dict.fromkeys(
            ("quarters", "month and year", "ISO weeks"), "months, quarters or weeks")
        remark = remarks.get(name, "")
        yield Column(f"category of {name}", repeated, "category", [cell.strip() for cell in repeated], remark)
    for name, base, word, kind in (("numbers", [f"{value:.2f}" for value in _NUMBERS], "unknown", "numeric"),
                                   ("dates", [f"{moment:%Y-%m-%d}" for moment in _MOMENTS], "soon", "date")):
        cells, values = list(base), list(_NUMBERS if kind == "numeric" else _seconds(None))
        for place in (7, 19):
            cells[place], values[place] = word, None
        yield Column(f"{name} and a word", cells, kind, values, f"such as '{word}'")


def columns():
    """All columns, with distinct names."""
    return [*_numbers(), *_dates(), *_booleans(), *_left_alone()]


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for k, column in enumerate(columns()):
        lines = ["cell,row", *('"' + cell.replace('"', '""') + f'",{i}' for i, cell in enumerate(column.cells))]
        (folder / f"{k:03d}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(columns())} files in {folder}")
