"""Receipts: what an exported file gave on some rows beside its model, and the digests of all three.

A receipt is JSON of plain values, the same for the same files and engines.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .._version import __version__
from ..errors import InvalidInputError
from . import TARGETS
from .engines import ENGINES, Engine, Results, Rows, errors_of

FORMAT = 2

# The largest difference of a score, over the largest of 1 and the scores of the output, by the precision of the file.
TOLERANCES = {"double": 1e-9, "single": 1e-3}

_OF_PARTS = {"a contribution": "largest_difference_of_contributions", "an interval": "largest_difference_of_intervals"}

_KEYS = {"rffkern receipt", "artefact", "model", "rows", "tolerance", "engines", "versions"}


def digest(path: str) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def receipt(artefact: str, to: str, options: Mapping[str, str], interval: float | None, model: str, data: str,
            rows: Rows, expected: Results) -> dict[str, Any]:
    """The receipt of an exported file, from the files of its model and of rows, and what the model gives for these."""
    return {
        "rffkern receipt": FORMAT,
        "artefact": {"sha256": digest(artefact), "bytes": os.path.getsize(artefact), "target": to,
                     "options": {**options}, "explain": expected.contributions is not None, "interval": interval},
        "model": {"sha256": digest(model)},
        "rows": {"sha256": digest(data), "n_rows": rows.n_rows},
        "tolerance": TOLERANCES[options.get("precision", "double")],
        "engines": run_engines(artefact, to, options, rows, expected),
        "versions": {"rffkern": __version__, "numpy": np.__version__}}


def checked(found: Any, name: str) -> dict[str, Any]:
    """A receipt from a file; InvalidInputError for anything else."""
    try:
        if not isinstance(found, dict) or {*found} != _KEYS or found["rffkern receipt"] != FORMAT:
            raise ValueError("its fields are none of those of this version")
        artefact = found["artefact"]
        texts = [artefact["sha256"], artefact["target"], found["model"]["sha256"], found["rows"]["sha256"],
                 *artefact["options"].values()]
        if (not all(isinstance(text, str) for text in texts) or not isinstance(found["engines"], dict)
                or not isinstance(artefact["explain"], bool)
                or not (artefact["interval"] is None or isinstance(artefact["interval"], float))):
            raise ValueError("a field is malformed")
        if {*artefact["options"]} != {*TARGETS[artefact["target"]].options}:
            raise ValueError("its options are none of those of the target")
        if found["tolerance"] != TOLERANCES[artefact["options"].get("precision", "double")]:
            raise ValueError(f"its tolerance is {found['tolerance']!r}, which no receipt has")
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise InvalidInputError(f"{name}: is no receipt of rffkern export --verify: {error}") from error
    return dict(found)


def run_engines(artefact: str, to: str, options: Mapping[str, str], rows: Rows, expected: Results
                ) -> dict[str, dict[str, Any]]:
    """What each engine of a target gives for the rows, beside what the model gives."""
    return {name: _run(engine, artefact, options, rows, expected) for name, engine in ENGINES.items()
            if engine.target == to}


def _run(engine: Engine, artefact: str, options: Mapping[str, str], rows: Rows, expected: Results) -> dict[str, Any]:
    """Run a copy of the file in a folder of its own."""
    lacking = engine.lacking()
    if lacking:
        return {"not run": f"{' and '.join(lacking)} not found"}
    found: dict[str, Any] = {"version": engine.version()}
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "exported" + TARGETS[engine.target].suffixes[0])
        shutil.copy(artefact, copy)
        try:
            errors = errors_of(engine.run(copy, rows, expected, options), expected)
        except subprocess.CalledProcessError as error:
            return found | {"failed": f"{error}: {(error.stderr or b'').decode(errors='replace')[:500]}"}
        except Exception as error:  # whatever the engine raises
            return found | {"failed": f"{type(error).__name__}: {error}"[:500]}
    found |= {"largest_difference": errors.scores, "largest_difference_ulp": errors.ulp, "same_labels": errors.labels}
    of_parts = zip(_OF_PARTS.values(), (errors.contributions, errors.ends), strict=True)
    return found | {field: error for field, error in of_parts if error is not None}


def mismatches(engines: Mapping[str, Mapping[str, Any]], tolerance: float) -> list[str]:
    """What engines gave that the model did not."""
    found = []
    for name, result in engines.items():
        if "failed" in result:
            found.append(f"{name} failed: {result['failed']}")
        elif "not run" not in result:
            for what, field in (("a score", "largest_difference"), *_OF_PARTS.items()):
                if not result.get(field, 0.0) <= tolerance:  # nan too
                    found.append(f"{name} gives {what} that differs by {result[field]:.2g}, above {tolerance:g}")
            if result["same_labels"] < 1:
                found.append(f"{name} gives other labels for {100 * (1 - result['same_labels']):.2g} % of the rows")
    return found


def described(engines: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A line for each engine."""
    for name, result in engines.items():
        if "largest_difference" not in result:
            yield f"{name}: " + (f"not run, {result['not run']}" if "not run" in result else "failed")
            continue
        parts = "".join(f", of {what} {result[field]:.2g}" for what, field in _OF_PARTS.items() if field in result)
        yield (f"{name}: largest difference of a score {result['largest_difference']:.2g} "
               f"({result['largest_difference_ulp']:g} ULP){parts}, {100 * result['same_labels']:g} % of "
               "labels equal")
