"""The formulas of memory in docstrings agree with measured peaks, to a tenth; tools/soak.py tries more sizes."""

import inspect
import tracemalloc

import numpy as np
import pytest
from helpers import memory_formulas as memory

import rffkern
from rffkern._estimator.registry import FAMILIES

pytestmark = pytest.mark.slow

NAMES = sorted(entry.class_name for entry in FAMILIES.values())


def test_notation():
    text = "Peak:\n\n    array:  max(n (u d + 2), 16 2^18) + 24 T k K d\n    blocks: n"
    found = eval(memory.formula(text, "array"), {}, {"n": 10, "u": 4, "d": 3, "T": 1, "k": 2, "K": 5, "max": max})
    assert found == max(10 * (4 * 3 + 2), 16 * 2**18) + 24 * 2 * 5 * 3


@pytest.mark.parametrize(("precision", "n_outputs"), [("single", 1), ("double", 3)])
@pytest.mark.parametrize("kind", ["array", "blocks"])
@pytest.mark.parametrize("name", NAMES)
def test_peak_of_fit(name, kind, precision, n_outputs):
    assert memory.disagreement(name, precision, kind, memory.sizes(name)[0], n_outputs) is None


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("GBRFF")])
def test_peak_of_fit_without_subsets(name):
    assert memory.disagreement(name, "single", "array", memory.SIZES[0], 1, max_samples=None) is None


@pytest.mark.parametrize(("name", "n", "n_outputs"), [
    ("FourierBoostingClassifier", 4000, 1), ("FourierBoostingClassifier", 2500, 3),
    ("FourierBoostingRegressor", 4000, 1), ("FourierBoostingRegressor", 2500, 3)])
def test_peak_with_kernel_ridge(name, n, n_outputs):
    assert memory.disagreement(name, "single", "kernel", n, n_outputs, kernel_ridge=True) is None


def test_a_needless_copy_is_noticed(monkeypatch):
    """Two of the twenty columns in double precision."""
    check = rffkern.GBRFF2Classifier._check_training

    def wasteful(self, X, *others):
        self.kept = X[:, :2].copy()
        return check(self, X, *others)

    monkeypatch.setattr(rffkern.GBRFF2Classifier, "_check_training", wasteful)
    assert "the formula says" in memory.disagreement("GBRFF2Classifier", "single", "array", memory.SIZES[0], 1)


@pytest.mark.parametrize("kind", ["array", "blocks"])
@pytest.mark.parametrize(("name", "classes"), [("GBRFF2Classifier", 2), ("GBRFF2Classifier", 3),
                                               ("SparseKernelClassifier", 3), ("RFFNetClassifier", 2),
                                               ("FourierBoostingClassifier", 2), ("FourierBoostingClassifier", 3)])
def test_peak_of_scoring(name, classes, kind):
    X = np.random.default_rng(0).standard_normal((200_000, 5))
    model = getattr(rffkern, name)(random_state=0, n_jobs=1, **memory.SMALL[name])
    model.fit(X[:500], np.arange(500) % classes)
    rows = rffkern.RowBlocks([X[:50_000], X[50_000:]]) if kind == "blocks" else X
    model.decision_function(X[:500])
    for method in ("decision_function", "predict"):
        asked = eval(memory.formula(inspect.getdoc(getattr(model, method)), kind), {},
                     {"n": len(X), "k": len(model.classes_) if classes > 2 else 1, "v": 8, "max": max})
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        getattr(model, method)(rows)
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        assert abs(peak / asked - 1) < memory.AGREEMENT, (method, peak, asked)
