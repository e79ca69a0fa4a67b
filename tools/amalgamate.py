"""Write the C sources for users as few files, without comments and indentation: they are a large part of a wheel.

    python tools/amalgamate.py FOLDER SOURCE...     the first source is the main one; the others are what it includes

A file that is included once, or has a guard against more, is put where it is first included.  Files that are included
several times stay files of their own.  `rffkern.h`, the interface, stays as it is.  Exported files take functions from
the result (rffkern/_export/source.py).
"""

import argparse
import pathlib
import re

INTERFACE = "rffkern.h"
INCLUDE = re.compile(r'^ *# *include "([^"]+)"\n', re.MULTILINE)
GUARD = re.compile(r"\A\s*#ifndef (\w+)\n#define \1\n")
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/', re.DOTALL)


def stripped(text):
    """Code without comments and blanks that mean nothing; a string is no comment."""
    text = COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    return "".join(f"{line}\n" for line in (line.strip() for line in text.splitlines()) if line)


class Sources:
    """The sources by name, and which of them stand in another file already."""

    def __init__(self, paths):
        self.texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
        self.texts = {name: text if name == INTERFACE else stripped(text) for name, text in self.texts.items()}
        included = [name for text in self.texts.values() for name in INCLUDE.findall(text)]
        self.apart = {name for name, text in self.texts.items() if name == INTERFACE
                      or (included.count(name) > 1 and not GUARD.match(text))}
        self._placed = set()

    def place(self, name):
        """The text of a file with what it includes; nothing where a guard would leave nothing."""
        if name in self._placed:
            return ""
        if name not in self.apart:
            self._placed.add(name)
        here = self.texts.keys() - self.apart
        return INCLUDE.sub(lambda found: self.place(found[1]) if found[1] in here else found[0], self.texts[name])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("sources", type=pathlib.Path, nargs="+", metavar="source")
    arguments = parser.parse_args()
    sources, main_name = Sources(arguments.sources), arguments.sources[0].name
    for name in [main_name, *sorted(sources.apart)]:
        text = sources.place(name)
        if name != INTERFACE:
            text = f"/* Part of rffkern (BSD-3-Clause); made from rffkern/include. */\n{text}"
        (arguments.folder / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
