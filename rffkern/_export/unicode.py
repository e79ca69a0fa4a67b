"""Letters and cases of Unicode, as this Python knows them, in ranges: for languages without tables of their own."""

import functools
from collections.abc import Callable

_SIGMA, _SMALL_SIGMA = "\u03a3", "\u03c3"  # which has another form at the end of a word


def _is_cased(letter: str) -> bool:
    return f"a{_SIGMA}{letter}".lower()[1] == _SMALL_SIGMA


def _is_ignored(letter: str) -> bool:
    """Whether a letter or mark does not count for what is the end of a word."""
    return not _is_cased(letter) and f"a{_SIGMA}{letter}a".lower()[1] == _SMALL_SIGMA


_PROPERTIES: dict[str, Callable[[str], bool]] = {
    "word_letters": str.isalnum, "cased_letters": _is_cased, "ignored_letters": _is_ignored}


@functools.cache
def ranges() -> dict[str, list[tuple[int, int]]]:
    """First and last code points of the ranges that have a property."""
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in _PROPERTIES}
    for c in range(0x110000):
        letter = chr(c)
        for name, has in _PROPERTIES.items():
            if has(letter):
                runs = found[name]
                if runs and runs[-1][1] == c - 1:
                    runs[-1] = (runs[-1][0], c)
                else:
                    runs.append((c, c))
    return found


@functools.cache
def upper_runs() -> list[tuple[int, int, int, int]]:
    """Runs of letters whose lower case is one other letter: first, last, their distance, and that of the lower case."""
    runs: list[tuple[int, int, int, int]] = []
    for c in range(0x110000):
        lower = chr(c).lower()
        if len(lower) != 1 or ord(lower) == c or chr(c) == _SIGMA:
            continue
        shift = ord(lower) - c
        first, last, step, of_run = runs[-1] if runs else (0, 0, 0, 0)
        if runs and shift == of_run and c - last in ((1, 2) if first == last else (step,)):
            runs[-1] = (first, c, c - last, shift)
        else:
            runs.append((c, c, 1, shift))
    return runs
