"""Recipes of docs/batch.md, as commands in a folder with `rows/*.parquet` and `model.npz`."""

import itertools
import pathlib
import sys
import textwrap

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "batch.md"

# Titles, and what each imports that may be missing.
MODULES = {"The command line": "distributed", "A pool of processes": "pandas", "Polars": "polars", "DuckDB": "duckdb",
           "Ray Data": "ray", "Spark": "pyspark"}


def recipe(title):
    """The block of code below a title in bold type."""
    lines = PAGE.read_text(encoding="utf-8").split(f"\n**{title}**")[1].split("\n\n", 1)[1].splitlines()
    return textwrap.dedent("\n".join(itertools.takewhile(lambda line: line[:4].strip() == "", lines)))


def commands_of(title, folder, n_processes):
    """The commands of a recipe, to run in a folder, in which the block of code is written."""
    if title == "The command line":
        lines = recipe(title).replace(" 8 ", f" {n_processes} ").splitlines()
        return [["bash", "-ec", line.replace("rffkern", f"{sys.executable} -m rffkern", 1)] for line in lines]
    (folder / "recipe.py").write_text(recipe(title), encoding="utf-8")
    export = ["export", "model.npz", "--to", "sql", "--table", "rows", "--key", "key", "-o", "model.sql"]
    return [[sys.executable, "-m", "rffkern", *export]] * (title == "DuckDB") + [[sys.executable, "recipe.py"]]
