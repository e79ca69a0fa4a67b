"""Models to export, one for each thing that an export must get right, and rows for them."""

import functools
import pathlib

import numpy as np

import rffkern
from rffkern import ColumnMap, Expansion, KernelTerms
from rffkern._estimator.registry import FAMILIES
from rffkern._model.tree_layout import UNREACHED

from .expansions import boosted_expansion, fourier_expansion, kernel_expansion, small_expansion, with_kernels

FILES = pathlib.Path(__file__).parent.parent / "data" / "1"
LABELS = ["it's", 'a "quote"', "back\\slash ??/", "größe\n"]
N_ROWS = 150


def rows(n_columns=3, gaps=False, n_rows=N_ROWS):
    """Rows with the spread of those of the frozen files; a tenth of the numbers missing where there are gaps."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_rows, n_columns)) * ([1, 100, 0.01] if n_columns == 3 else 1)
    X[rng.random(X.shape) < 0.1 * gaps] = np.nan
    return X


def table_with_gaps():
    """A column that tells the missing values of another, one of few values, and one of noise."""
    X = rows(4, n_rows=800)
    X[:, 1] = X[:, 0] ** 3 + 0.1 * X[:, 1]
    X[:, 2] = np.round(X[:, 2])
    y = np.sin(2 * X[:, 0]) + (X[:, 2] > 0) + 0.3 * X[:, 3]
    X[::7, 0] = np.nan
    X[3::50, 2] = np.nan
    return X, y


def _boosted(name, target, **params):
    X = rows(5, n_rows=600)
    y = target(np.sin(2 * X[:, 0]) + (X[:, 1] > 0) * X[:, 2])
    family = getattr(rffkern, f"FourierBoosting{name}")
    columns = ColumnMap(("standard", "rank"), n_knots=20)
    return family(15, n_bags=2, columns=columns, random_state=0, **{"kernel_ridge": False} | params).fit(X, y)


def _all_forms():
    X, y = table_with_gaps()
    column_map = ColumnMap(("raw", "standard", "bounded", "rank", "bins"), n_knots=17, n_bins=4)
    return rffkern.GBRFF2Classifier(10, columns=column_map, random_state=0).fit(X, y > 0)


def _odd_names():
    X, y = table_with_gaps()
    frame = dict(zip(["größe", 'a "b"', "it's", "select"], X.T, strict=True))
    columns = ColumnMap(("standard", "rank"), n_knots=20)
    model = rffkern.FourierBoostingRegressor(10, n_bags=1, columns=columns, kernel_ridge=False, random_state=0)
    return model.fit(frame, y)


def _two_classes(family, labels=("no", "yes"), **params):
    X = rows(n_rows=300)
    return family(random_state=0, **params).fit(X, np.array(labels)[(np.sin(X[:, 0]) + X[:, 1] / 100 > 0).astype(int)])


def smooth_kernels():
    """Interpolation of a smooth function by wide kernels: in single precision it would be nonsense."""
    X = np.linspace(0, 1, 40)[:, None]
    K = np.exp(-0.5 * ((X - X.T) / 0.15) ** 2)
    return kernel_expansion(X, np.linalg.solve(K + 1e-11 * np.eye(40), 10 * np.sin(6 * X)), [0.0], [1 / 0.15])


def _trees_alone():
    """Two trees, one of which splits by a column twice, and one level that splits nothing."""
    nothing = np.finfo(float).max
    return boosted_expansion(np.empty((0, 2)), [], np.empty((0, 2)), [0.5, 0], [0, 0], np.zeros((2, 2)),
                         [[0, 0], [1, 0]], [[-0.5, 0.25], [0, nothing]], np.arange(10.0).reshape(5, 2))


def _without_terms(value, n_classes):
    """A model of columns that tell no rows apart."""
    y = np.random.default_rng(0).standard_normal(60)
    family = rffkern.FourierBoostingClassifier if n_classes else rffkern.FourierBoostingRegressor
    labels = np.digitize(y, [0.0, 0.7][: n_classes - 1]) if n_classes else y
    return family(5, n_bags=1, kernel_ridge=False, random_state=0).fit(np.full((60, 2), value), labels)


SPECIAL = {
    "two classes, exponential loss": lambda: _two_classes(rffkern.GBRFF2Classifier, n_estimators=10),
    "two classes, squared loss": lambda: _two_classes(rffkern.GBRFFClassifier, n_estimators=10, n_components=5),
    "two classes, kernels": lambda: _two_classes(
        rffkern.SparseKernelClassifier, n_estimators=3, kernel={"length_scale": 2.0}, reg_lambda=0.1),
    "two classes, exponential kernels": lambda: _two_classes(
        rffkern.SparseKernelClassifier, n_estimators=3, reg_lambda=0.1,
        kernel={"length_scale": 2.0, "shape": "exponential"}),
    "two classes, kernel ridge": lambda: _two_classes(rffkern.KernelRidgeClassifier, reg_lambda=0.3,
                                                          length_scale=2.0),
    "two classes, landmarks": lambda: _two_classes(rffkern.PBRFFClassifier, n_landmarks=10),
    "two classes, whole numbers": lambda: _two_classes(rffkern.GBRFF2Classifier, (-7, 2**40), n_estimators=5),
    "two classes, floats": lambda: _two_classes(rffkern.GBRFF2Classifier, (-1.0, 1.0), n_estimators=5),
    "four classes, odd labels": lambda: _boosted(
        "Classifier", lambda y: np.array(LABELS)[np.digitize(y, [-0.8, 0, 0.8])]),
    "counts": lambda: _boosted("Regressor", lambda y: np.random.default_rng(0).poisson(np.exp(y)), loss="poisson"),
    "several quantiles": lambda: _boosted("Regressor", lambda y: y, loss="quantile", quantile=[0.1, 0.5, 0.9]),
    "several targets": lambda: _boosted("Regressor", lambda y: np.column_stack([y, -2 * y]), kernel_ridge=True),
    "terms and kernels": lambda: with_kernels(small_expansion(2), kernel_expansion(
        rows(4, n_rows=30), np.linspace(0.1, 1, 60).reshape(30, 2), [0, 0], [0.5, 1, 0, 0.1], [1.0])),
    "classes by terms and kernels": lambda: _boosted("Classifier", lambda y: np.digitize(y, [-0.5, 0.5]),
                                                     kernel_ridge=True),
    "every form, gaps": _all_forms,
    "odd column names, gaps": _odd_names,
    "kernels in regions": lambda: rffkern.load(FILES / "fourier_boosting_regions.npz"),
    "an expansion": lambda: rffkern.load(FILES / "gbrff1.npz").expansion_,
    "an expansion of kernels": lambda: kernel_expansion(rows(2, n_rows=4), np.eye(4)[:, :2], [0, 1], [0.5, 0]),
    "an expansion of rough kernels": lambda: kernel_expansion(
        rows(2, n_rows=4), np.eye(4)[:, :2], [0, 1], [0.5, 0], [1.0]),
    "trees alone": _trees_alone,
    "constant columns": lambda: _without_terms(3.5, 0),
    "constant columns, two classes": lambda: _without_terms(3.5, 2),
    "missing columns, three classes": lambda: _without_terms(np.nan, 3),
    "a constant": lambda: fourier_expansion(np.empty((0, 2)), [], np.empty((0, 2)), [1.5, -2.0], [0.0, 0.0]),
}
CASES = [*sorted(FAMILIES), *SPECIAL]


@functools.cache
def model_of(case):
    """The model of a case, and rows for it."""
    model = SPECIAL[case]() if case in SPECIAL else rffkern.load(FILES / f"{case}.npz")
    n_columns = getattr(model, "n_features_in_", getattr(model, "n_features", None))
    X = rows(n_columns, gaps=getattr(model, "column_map_", None) is not None)
    upper = getattr(getattr(model, "expansion_", model), "upper", None)
    if upper is not None and (upper < UNREACHED).any():
        X[-9:] *= 30  # which are clipped
    if case == "trees alone":
        X[:3] = [[-0.5, 0], [0.25, 0], [np.nextafter(0.25, 1), 1e-300]]  # on thresholds and next to them
    return model, X


def rounding_of(model):
    """How many units in the last place of max(|H|, 1) rounding may cost: 16, and the sum of terms without signs.

    That of kernels is the largest at the centers.  Where the exponent e of a kernel exp(-e) is off by a unit in its
    last place, the kernel is by e times as much, in the package and again in the engine.
    """
    expansion = getattr(model, "expansion_", None)
    if expansion is None:
        return 16
    allowed = 16.0
    if expansion.fourier is not None:
        allowed += np.abs(expansion.fourier.amplitudes).sum(axis=0).max(initial=0)
    if expansion.kernels is None:
        return allowed
    kernels, n = expansion.kernels, len(expansion.kernels.centers)
    each = KernelTerms(**kernels.arrays() | {"weights": np.eye(n)})
    found = Expansion(np.zeros(n), expansion.center, each).score(kernels.centers).clip(np.finfo(float).tiny, 1)
    return allowed + (found * (1 - 2 * np.log(found)) @ np.abs(kernels.weights)).max(initial=1)
