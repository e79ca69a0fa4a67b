"""Print how far exported files are from their models, on many rows, as the tables of docs/export.md.

    python tools/export_errors.py [--rows 10000] [--engines cc,node] [CASE ...]

Cases are those of the tests: tables with words, dates and gaps, and the frozen model files.  Rows have new levels and
missing cells.  Engines that are not installed are left out; PostgreSQL is run in a server of its own.
"""

import argparse
import contextlib
import pathlib
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests"))  # what this shares with the tests is in tests/helpers
from helpers.engines import ENGINES, TARGETS, errors_of, lacking, postgresql, results_of, rows_of
from helpers.exported import FAMILIES, model_of, rows
from helpers.exported_tables import CASES, case_of

import rffkern


def main() -> int:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="default: all tables; families: all frozen files")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--engines", help="default: all")
    arguments = parser.parse_args()
    asked = arguments.engines.split(",") if arguments.engines else ENGINES
    engines = [name for name in asked if not lacking(name)]
    targets = [target for target in TARGETS if any(ENGINES[name][0] == target for name in engines)]
    heads = [f"{arguments.rows:,} rows", *engines, "probabilities", "labels", f"bytes of {', '.join(targets)}"]
    print(f"| {' | '.join(heads)} |")
    print("|---" * (len(engines) + 4) + "|")
    cases = sorted(FAMILIES) if arguments.cases == ["families"] else arguments.cases or [*CASES]
    with contextlib.ExitStack() as stack:
        runs = {name: ENGINES[name][1] for name in engines}
        if "postgresql" in runs:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            folder.chmod(0o755)
            runs["postgresql"] = stack.enter_context(postgresql(folder / "server"))
        for case in cases:
            _print_case(case, arguments.rows, runs, targets)
    return 0


def _print_case(case, n_rows, runs, targets):
    if case in CASES:
        model, table = case_of(case)
        X = table(n_rows, 1)
    else:
        model, _ = model_of(case)
        X = rows(model.n_features_in_, gaps=getattr(model, "column_map_", None) is not None, n_rows=n_rows)
    expected, given, errors, sizes = results_of(model, X), rows_of(model, X), {}, []
    with tempfile.TemporaryDirectory() as name:
        for target in targets:
            if case.startswith("free text") and not TARGETS[target].reads_text:
                continue  # which refuse it
            path = pathlib.Path(name, f"model{TARGETS[target].suffixes[0]}")
            rffkern.export(model, path, to=target)
            sizes.append(f"{path.stat().st_size:,}")
            for engine, run in runs.items():
                if ENGINES[engine][0] == target:
                    start = time.perf_counter()
                    errors[engine] = errors_of(run(path, given, expected), expected)
                    print(f"{case}: {engine} took {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    if not errors:  # all engines refuse it
        return
    ulps = " | ".join(f"{errors[engine].ulp:.0f}" if engine in errors else "refused" for engine in runs)
    answers, labels = max(each.answers for each in errors.values()), min(each.labels for each in errors.values())
    same = f"{100 * labels:g} %" if expected.labels is not None else ""
    print(f"| {case} | {ulps} | {answers:.1e} | {same} | {', '.join(sizes)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
