"""Models that C scores: every frozen file, and functions and column maps with all that C can score."""

import pathlib

import numpy as np

from rffkern import (
    ColumnMap,
    Expansion,
    FourierBoostingClassifier,
    GBRFF2Classifier,
    GBRFFRegressor,
    KernelTerms,
    SparseKernelClassifier,
    load,
    save,
)
from rffkern._model.tree_layout import TreeLayout

from .expansions import boosted_expansion, fourier_expansion, kernel_expansion, with_kernels

FAR = 50  # one row of so many may lie far out


def frozen_files(folder):
    """Models by name, without those of tables that are no numbers."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*/*.npz")):
        model = load(path)
        column_map = getattr(model, "column_map_", model if isinstance(model, ColumnMap) else None)
        if column_map is None or column_map._compiled is not None:
            found[f"{path.parent.name}/{path.stem}"] = path
    return found


def made(folder):
    """Models that are written into a folder, by name."""
    rng = np.random.default_rng(5)
    models = dict(_functions(rng)) | _mapped(rng)
    found = {}
    for name, model in models.items():
        found[name] = pathlib.Path(folder, f"{name}.npz")
        save(model, found[name])
    return found


def _functions(rng):
    for name, n_terms, n_features, n_outputs in (("small", 3, 1, 1), ("usual", 300, 20, 1), ("wide", 60, 700, 3)):
        phases, intercept = rng.uniform(-3, 3, n_terms), rng.standard_normal(n_outputs)
        center, amplitudes = rng.standard_normal(n_features), rng.standard_normal((n_terms, n_outputs))
        omegas = rng.standard_normal((n_terms, n_features))
        yield f"cosines_{name}", fourier_expansion(omegas, phases, amplitudes, intercept, center)
        used = omegas * (rng.random(omegas.shape) < 0.3)
        yield f"cosines_sparse_{name}", fourier_expansion(used, phases, amplitudes, intercept, center)
        lengths = rng.uniform(0.1, 0.5, n_features)
        yield f"kernels_{name}", kernel_expansion(omegas, amplitudes, intercept, lengths)
        yield f"rough_kernels_{name}", kernel_expansion(omegas, amplitudes, intercept, lengths, [1.0])
        for unit in (1.0, 1e40):
            depth, n_tables = 5, 41
            columns = rng.integers(0, n_features, (n_tables, depth)).astype(float)
            thresholds = rng.standard_normal(columns.shape)
            thresholds[rng.random(columns.shape) < 0.1] = np.finfo(float).max
            n_cells = int(TreeLayout.of(columns, thresholds).starts[-1])
            yield f"terms_{name}_{unit:g}", boosted_expansion(
                used, phases, amplitudes, intercept, center, rng.standard_normal((n_features, n_outputs)), columns,
                thresholds, unit * rng.standard_normal((n_cells, n_outputs)))
        beside = kernel_expansion(rng.standard_normal((97, n_features)), rng.standard_normal((97, n_outputs)),
                                 np.zeros(n_outputs), lengths, [1.0])
        coefficients = rng.standard_normal((n_features, n_outputs))
        terms = boosted_expansion(used, phases, amplitudes, intercept, center, coefficients, columns, thresholds,
                                  rng.standard_normal((n_cells, n_outputs)))
        yield f"sum_{name}", with_kernels(terms, beside)
        regions = Expansion(beside.intercept, beside.center, KernelTerms(
            *list(beside.kernels.arrays().values())[:4], [0, n_features - 1, 0], [0.1, -0.3, 0.6], [0, 20, 20, 71, 97]))
        yield f"regions_{name}", regions
        yield f"sum_of_regions_{name}", with_kernels(terms, regions)
    cancelling = kernel_expansion(rng.standard_normal((100, 3)), 1e9 * rng.standard_normal((100, 1)), [0.0], [0.1] * 3)
    yield "kernels_that_cancel", cancelling
    yield "cosines_of_large_angles", fourier_expansion(1e3 * rng.standard_normal((50, 4)), rng.uniform(-3, 3, 50),
                                                      rng.standard_normal((50, 2)), [0.0, 1.0], np.zeros(4))


def table(rng, n_rows=3000):
    """Rows with missing values, heavy tails and columns that tell each other."""
    X = rng.standard_normal((n_rows, 6))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    X[:, 2] = np.exp(3 * X[:, 2])
    X[:, 3] = np.round(X[:, 3])
    missing = rng.random(X.shape) < 0.1
    missing[:, 4:] = False
    return np.where(missing, np.nan, X)


def _mapped(rng):
    X = table(rng)
    y = np.digitize(np.nansum(X[:, [0, 3]], axis=1), [-1, 1])
    forms = ColumnMap(("raw", "standard", "bounded", "rank", "bins"), n_knots=33, n_bins=20)
    return {
        "column_map": ColumnMap(("raw", "standard", "bounded", "rank", "bins"), n_bins=140).fit(X),
        "gbrff2_mapped": GBRFF2Classifier(20, columns=forms, random_state=0).fit(X, y),
        "gbrff_mapped": GBRFFRegressor(20, columns=forms, random_state=0).fit(X, y.astype(float)),
        "exponential_kernels": SparseKernelClassifier(
            5, kernel={"length_scale": 2.0, "shape": "exponential"}, reg_lambda=0.1,
            random_state=0).fit(np.nan_to_num(X), y),
        "boosting_mapped": FourierBoostingClassifier(30, n_bags=2, kernel_ridge=False, random_state=0).fit(X, y),
    }


def rows_for(model, rng, n_rows):
    """Rows for a model: some of them far out, and with missing values where columns are mapped first."""
    n_features = model.n_features_in_ if hasattr(model, "n_features_in_") else model.n_features
    column_map = getattr(model, "column_map_", model if isinstance(model, ColumnMap) else None)
    if column_map is not None and n_features == 6:
        return table(rng, n_rows)
    X = rng.standard_normal((n_rows, n_features))
    if n_features == 3:
        X *= [1, 100, 0.01]  # as those of the frozen files
    X[::FAR] *= 10.0 ** rng.uniform(-3, 8, (len(X[::FAR]), 1))
    return X
