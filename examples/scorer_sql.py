"""The answer for one row of a CSV file, in SQLite or DuckDB: prints the label or prediction, and what stands beside it.

    rffkern export MODEL --to sql -o model.sql
    python scorer_sql.py sqlite model.sql 'city,mass' 'Bern,1250'          or duckdb, which pip install duckdb brings

Python does no more here than the shell of a database: it makes a table of the row and runs the SELECT.
"""

import csv
import sqlite3
import sys

engine, path, names, values = sys.argv[1:]
(columns,), (cells,) = csv.reader([names]), csv.reader([values])
columns = ['"' + column.replace('"', '""') + '"' for column in columns]
if engine == "duckdb":
    import duckdb

    connection = duckdb.connect()
else:
    connection = sqlite3.connect(":memory:")


def typed(cell):
    """A number, text, or None where the cell is empty."""
    try:
        return float(cell)
    except ValueError:
        return cell or None


row = [typed(cell) for cell in cells]
kinds = ["double precision" if isinstance(cell, float) else "text" for cell in row]
definitions = ", ".join(f"{column} {kind}" for column, kind in zip(columns, kinds, strict=True))
connection.execute(f"CREATE TABLE rows (id integer, {definitions})")
connection.execute(f"INSERT INTO rows VALUES (1{', ?' * len(row)})", row)
with open(path, encoding="utf-8", newline="") as file:
    (answer,) = connection.execute(file.read()).fetchall()
print(*answer[1:], sep="\n")
