"""Contributions of columns in C and JavaScript, beside those of `explain`."""

import re

import numpy as np
import pytest
from helpers.engines import ENGINES, TARGETS, errors_of, lacking, results_of, rows_of
from helpers.exported import rounding_of

import rffkern
from rffkern import (
    ColumnMap,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    InvalidInputError,
    KernelRidgeRegressor,
    RFFNetRegressor,
    SparseKernelClassifier,
)

pytestmark = pytest.mark.slow

SMALL = {"n_estimators": 15, "n_bags": 2, "kernel_ridge": False, "random_state": 0}


def model_of(case):
    """(Model, rows): trees, cosines and linear functions, of one output and of several."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    if case == "classes":
        labels = np.digitize(y, [-0.5, 0.5])
        return FourierBoostingClassifier(**SMALL).fit(X, labels), X[:20]
    if case == "targets":
        return FourierBoostingRegressor(**SMALL, columns=None).fit(X, np.column_stack([y, X[:, 0]])), X[:20] * 3
    if case == "gaps":
        holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
        return FourierBoostingRegressor(**SMALL, columns=ColumnMap(("standard", "rank"))).fit(holes, y), holes[:20]
    if case == "trees":
        return FourierBoostingRegressor(**SMALL, base_learners=["tree"]).fit(X, y), X[:20]
    if case == "constant":
        return FourierBoostingRegressor(**SMALL).fit(X, np.ones(300)), X[:20]
    if case == "kernels":
        model = SparseKernelClassifier(3, kernel={"length_scale": 2.0}, reg_lambda=0.1, random_state=0)
        return model.fit(X, y > 0), X[:20]
    if case == "regions":
        model = KernelRidgeRegressor(kernel="gaussian", region_size=100, columns=ColumnMap(), random_state=0).fit(X, y)
        assert model.expansion_.kernels.n_regions > 1
        return model, X[:20]
    if case == "words":
        table = {"city": [["Bern", "Basel", None][k] for k in rng.integers(0, 3, 300)],
                 "mass": [f"{x:.1f} kg" for x in rng.uniform(1, 9, 300)],
                 "since": [f"20{k % 20 + 10}-0{k % 9 + 1}-11" for k in range(300)]}
        labels = [(c == "Bern") + len(m) > 6 for c, m in zip(table["city"], table["mass"], strict=True)]
        return FourierBoostingClassifier(**SMALL).fit(table, labels), {name: each[:30] for name, each in table.items()}
    if case == "gbrff2":
        return GBRFF2Classifier(6, random_state=0).fit(X, y > 0), X[:20]
    return RFFNetRegressor(max_epochs=2, random_state=0).fit(X, y), X[:20]


CASES = ("classes", "targets", "gaps", "trees", "constant", "gbrff2", "rffnet", "kernels", "regions", "words")


@pytest.mark.parametrize(("engine", "case"), [*(("cc", case) for case in CASES), *(
    ("node", case) for case in ("classes", "targets", "gaps", "regions", "words"))])
def test_contributions(engine, case, tmp_path):
    if lacking(engine):
        pytest.skip(f"{', '.join(lacking(engine))} not found")
    model, X = model_of(case)
    to = ENGINES[engine].target
    path = tmp_path / f"m{TARGETS[to].suffixes[0]}"
    rffkern.export(model, path, to=to, explain=True)
    expected = results_of(model, X, explain=True)
    errors = errors_of(ENGINES[engine].run(str(path), rows_of(model, X), expected), expected)
    rounding = 1e-13 if model.expansion_.kernels is None else 2.0**-52 * rounding_of(model)  # of terms that cancel
    assert errors.contributions <= rounding
    values = re.search(r"base_values(?:\[\d+\])? = [\[{](.*)[\]}];", path.read_text()).group(1).split(",")
    number = float.fromhex if engine == "cc" else float
    np.testing.assert_array_equal([*map(number, values)], np.ravel(model.explain(X).base_values))


def test_what_is_refused(tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 2))
    model = KernelRidgeRegressor(random_state=0).fit(X, X[:, 0])
    with pytest.raises(InvalidInputError, match="mixture of 43 Gaussian ones, and the file would need 3,440 means"):
        rffkern.export(model, tmp_path / "m.c", to="c", explain=True)
    for arguments, message in (({"to": "sql", "explain": True}, "an option of the targets"),
                               ({"to": "c", "explain": 2}, "explain must be")):
        with pytest.raises(InvalidInputError, match=message):
            rffkern.export(model, tmp_path / "m", **arguments)
    with pytest.raises(InvalidInputError, match="which has no explain"):
        rffkern.export(model.expansion_, tmp_path / "m.c", to="c", explain=True)
    assert not list(tmp_path.iterdir())
