"""Labels of exported classifiers are those of `predict`, to the last digit, or the export is refused."""

import json
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest
from helpers.exported import rows

import rffkern
from rffkern import GBRFF2Classifier, InvalidInputError
from rffkern._export.engines import imported

X = rows()
THREE = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
LABELS = {
    "unsigned": np.array([5, 2**64 - 2, 2**64 - 1], np.uint64), "small unsigned": np.array([5, 6, 7], np.uint64),
    "bytes": np.array([5, 6, 250], np.uint8), "signed": np.array([-(2**63), 2**53 + 1, 2**63 - 1]),
    "beyond 64 bits": np.array([-(10**30), 5, 10**30], object), "far": np.array([1, 10**30, 10**30 + 1], object),
    "objects": np.array([1, 2, 3], object), "text": np.array(["a", "b", "c"], object),
    "floats": np.array([-1.0, 0.0, 2.0]),
}


def fitted(labels):
    return GBRFF2Classifier(5, random_state=0).fit(X, labels[THREE])


def exported(model, path, to):
    rffkern.export(model, path, to=to)
    return path


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_numpy(labels, tmp_path):
    model = fitted(labels)
    found = imported(exported(model, tmp_path / "m.py", "numpy")).predict(X)
    assert found.dtype == model.predict(X).dtype
    assert found.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_onnx(labels, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    model = fitted(labels)
    session = runtime.InferenceSession(exported(model, tmp_path / "m.onnx", "onnx"))
    found = session.run(["label"], {"X": X})[0].tolist()
    assert [*map(str, found)] == [*map(str, model.predict(X).tolist())]
    assert isinstance(found[0], int) == (model.classes_.dtype.kind in "iu" and model.classes_[-1] < 2**63)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_sqlite(labels, tmp_path):
    model = fitted(labels)
    base = sqlite3.connect(":memory:")
    try:
        base.execute("SELECT cos(1)")
    except sqlite3.OperationalError:
        pytest.skip("SQLite without mathematical functions")
    base.execute("CREATE TABLE rows (id INTEGER, x0 REAL, x1 REAL, x2 REAL)")
    base.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", [(i, *row) for i, row in enumerate(X.tolist())])
    statement = exported(model, tmp_path / "m.sql", "sql").read_text()
    found = [label for _, label, *_ in sorted(base.execute(statement))]
    assert [*map(str, found)] == [*map(str, model.predict(X).tolist())]


@pytest.mark.skipif(shutil.which("node") is None, reason="node not found")
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_javascript(labels, tmp_path):
    model = fitted(labels)
    exported(model, tmp_path / "m.mjs", "js")
    (tmp_path / "run.mjs").write_text(
        'import { predict } from "./m.mjs";\n'
        f"for (const row of {json.dumps(X.tolist())}) console.log(String(predict(row)));\n")
    done = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = [str(label).removesuffix(".0") for label in model.predict(X).tolist()]
    assert done.stdout.split() == expected


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_c(labels, tmp_path):
    model = fitted(labels)
    if model.classes_.dtype == object:
        with pytest.raises(InvalidInputError, match=r"labels, from .* to .*, are whole numbers that no integer of C"):
            exported(model, tmp_path / "m.c", "c")
        assert not (tmp_path / "m.c").exists()
        return
    path = exported(model, tmp_path / "m.c", "c")
    kind = {"U": "s", "f": "g"}.get(model.classes_.dtype.kind) or ("llu" if labels[2] >= 2**63 else "lld")
    with path.open("a") as file:
        file.write('\n#include <stdio.h>\nint main(void)\n{\n    for (int k = 0; k < 3; k++)'
                   f' printf("%{kind}\\n", model_labels[k]);\n    return 0;\n}}\n')
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", path, "-lm", "-o", tmp_path / "m"],
                   check=True)
    done = subprocess.run([tmp_path / "m"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(label).removesuffix(".0") for label in model.classes_.tolist()]


@pytest.mark.parametrize("labels", [np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]"),
                                    np.array([b"a", b"b", b"c"])], ids=["dates", "bytes"])
def test_labels_of_other_kinds_are_refused(labels, tmp_path):
    for to in ("c", "js", "numpy", "onnx", "sql"):
        with pytest.raises(InvalidInputError, match="labels are truth values, numbers or text"):
            exported(fitted(labels), tmp_path / "m", to)
