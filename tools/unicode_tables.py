"""Print rffkern/include/rff_unicode.h: letters and cases as this Python knows them, in ranges.

Usage: python tools/unicode_tables.py > rffkern/include/rff_unicode.h

Files in the repository are those of Python 3.11, the oldest that is supported: letters of later versions of Unicode are
none in C.
"""

import unicodedata

SIGMA, SMALL_SIGMA = "\u03a3", "\u03c3"  # which has another form at the end of a word


def is_cased(letter):
    return f"a{SIGMA}{letter}".lower()[1] == SMALL_SIGMA


def is_ignored(letter):
    """Whether a letter or mark does not count for what is the end of a word."""
    return not is_cased(letter) and f"a{SIGMA}{letter}a".lower()[1] == SMALL_SIGMA


def ranges(has):
    """First and last code points of the ranges that have a property."""
    found = []
    for c in range(0x110000):
        if has(chr(c)):
            if found and found[-1][1] == c - 1:
                found[-1][1] = c
            else:
                found.append([c, c])
    return found


def upper_runs():
    """Runs of letters whose lower case is one other letter: first, last, their distance, and that of the lower case."""
    runs = []
    for c in range(0x110000):
        lower = chr(c).lower()
        if len(lower) != 1 or ord(lower) == c or chr(c) == SIGMA:
            continue
        shift = ord(lower) - c
        first, last, step, of_run = runs[-1] if runs else (0, 0, 0, 0)
        if runs and shift == of_run and c - last in ((1, 2) if first == last else (step,)):
            runs[-1] = [first, c, c - last, shift]
        else:
            runs.append([c, c, 1, shift])
    return runs


def table(name, rows, comment, kind="uint32_t"):
    """An array of rows, some in a line."""
    lines, line = [], "   "
    for row in rows:
        text = f" {{{', '.join(map(str, row))}}},"
        if len(line) + len(text) > 118:
            lines, line = [*lines, line], "   "
        line += text
    body = "\n".join([*lines, line]).rstrip(",")
    return f"\n/* {comment} */\nstatic const {kind} rff_{name}[{len(rows)}][{len(rows[0])}] = {{\n{body}}};\n"


def main():
    print(f"""\
/* Letters and cases of Unicode {unicodedata.unidata_version}: tools/unicode_tables.py prints this file. */
#ifndef RFF_UNICODE_H
#define RFF_UNICODE_H

#include <stdint.h>
""" + table("word_letters", ranges(str.isalnum), "First and last of ranges: letters and digits, as `str.isalnum` says.")
          + table("cased_letters", ranges(is_cased), "Letters that have a case.")
          + table("ignored_letters", ranges(is_ignored), "Marks that have none, which do not end a word of these.")
          + table("upper_letters", upper_runs(), "First, last, their distance, and that of the lower case.", "int32_t")
          + "\n#endif")


if __name__ == "__main__":
    main()
