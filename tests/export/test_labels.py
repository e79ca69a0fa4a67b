"""Labels of exported classifiers are those of `predict`, to the last digit, or the export is refused."""

import subprocess

import numpy as np
import pytest
from helpers.engines import ENGINES, TARGETS, lacking, results_of, rows_of
from helpers.exported import rows

import rffkern
from rffkern import GBRFF2Classifier, InvalidInputError

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


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_every_engine_predicts_them(labels, tmp_path):
    model = fitted(labels)
    expected, found = results_of(model, X), {}
    for engine, (target, run, *_) in ENGINES.items():
        if engine != "cc" and run is not None and not lacking(engine):  # C has places of labels
            path = tmp_path / f"m{TARGETS[target].suffixes[-1]}"
            rffkern.export(model, path, to=target)
            found[engine] = run(str(path), rows_of(model, X), expected).labels
            assert [*map(text, found[engine])] == [*map(text, expected.labels)], engine
    assert found["numpy"].dtype == expected.labels.dtype
    if "onnxruntime" in found:
        assert (found["onnxruntime"].dtype == np.int64) == (
            expected.labels.dtype.kind in "iu" and model.classes_[-1] < 2**63)


def text(label):
    return str(label).removesuffix(".0")


@pytest.mark.skipif(bool(lacking("cc")), reason="no C compiler")
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_c(labels, tmp_path):
    model, path = fitted(labels), tmp_path / "m.c"
    if model.classes_.dtype == object:
        with pytest.raises(InvalidInputError, match=r"labels, from .* to .*, are whole numbers that no integer of C"):
            rffkern.export(model, path, to="c")
        assert not path.exists()
        return
    rffkern.export(model, path, to="c")
    kind = {"U": "s", "f": "g"}.get(model.classes_.dtype.kind) or ("llu" if labels[2] >= 2**63 else "lld")
    with path.open("a") as file:
        file.write('\n#include <stdio.h>\nint main(void)\n{\n    for (int k = 0; k < 3; k++)'
                   f' printf("%{kind}\\n", model_labels[k]);\n    return 0;\n}}\n')
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", path, "-lm", "-o", tmp_path / "m"],
                   check=True)
    done = subprocess.run([tmp_path / "m"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*map(text, model.classes_)]
