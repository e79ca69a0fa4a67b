"""A part that the package does not have, written here: what a new one needs, and what then takes it.

It is one class, with what it adds to scores.  Files, sums, single terms and what they read, scores of sparse rows,
smaller models and checks of constraints follow from it.  C and the exports, which compute what parts add in languages
of their own, refuse it by name until they have its sum, and so do explanations, here and in C, and gradients.
"""

import pathlib
import subprocess

import numpy as np
import pytest
from helpers.c_reader import STRICT, build, compiler

import rffkern
from rffkern import Expansion, FourierBoostingRegressor, FourierTerms, InvalidInputError, LinearTerms, TreeTerms
from rffkern._export import c_program
from rffkern._files import model_files, shrink
from rffkern._model import expansion as expansion_module
from rffkern._model import parts
from rffkern._model.gradients import Neighbourhood, gradient_of_row
from rffkern._rows.sparse_rows import FEWEST_SPARSE, SparseRows
from rffkern._training.fourier_boosting.constraints import Constraints, check_constraints
from rffkern._training.fourier_boosting.sparse_columns import SparseColumns


class HingeTerms(parts.Part):
    """Linear splines: sum over m of amplitudes[m] max(0, x[columns[m]] - knots[m])."""

    kind = "hinges"
    reads_center = False
    array_names = ("hinge_columns", "hinge_knots", "hinge_amplitudes")
    _dimensions = (1, 1, 2)
    _linear_in = "hinge_amplitudes"

    def __init__(self, hinge_columns, hinge_knots, hinge_amplitudes):
        super().__init__(hinge_columns, hinge_knots, hinge_amplitudes)
        vars(self).update(n_terms=len(self.hinge_knots), n_outputs=self.hinge_amplitudes.shape[1])

    def _check_shapes(self, n_features):
        if not (self.hinge_columns < n_features).all():
            self._refuse_shapes(n_features)

    def _bound(self):
        return 1e300 * np.abs(self.hinge_amplitudes).sum(axis=0)

    def _reads(self, n_features):
        return np.eye(n_features, dtype=bool)[self.hinge_columns.astype(int)]

    def _take(self, chosen):
        return type(self)(*(array[chosen] for array in self.arrays().values()))

    def _plus(self, other):
        return HingeTerms(*map(np.concatenate, zip(self.arrays().values(), other.arrays().values(), strict=True)))

    def _with_columns(self, places, n_features):
        return HingeTerms(places[self.hinge_columns.astype(int)], self.hinge_knots, self.hinge_amplitudes)

    def _add_to(self, scores, rows, center):
        scores += np.maximum(rows[:, self.hinge_columns.astype(int)] - self.hinge_knots, 0) @ self.hinge_amplitudes


@pytest.fixture(autouse=True)
def listed(monkeypatch):
    """The new part before the last, kernels, whose terms no rounds have added."""
    assert parts.PARTS[-1] is rffkern.KernelTerms
    with_hinges = (*parts.PARTS[:-1], HingeTerms, parts.PARTS[-1])
    for module in (parts, expansion_module, model_files):
        monkeypatch.setattr(module, "PARTS", with_hinges)


@pytest.fixture
def expansion():
    return Expansion([1.0], [0.0, 0.0], FourierTerms([[1.0, 0.0]], [0.5], [[2.0]]),
                     HingeTerms([0, 1], [0.5, -0.5], [[1.0], [3.0]]))


X = np.random.default_rng(0).standard_normal((300, 2))


def test_scores(expansion):
    fourier = 1 + 2 * np.cos(X[:, 0] - 0.5)
    hinges = np.maximum(X[:, 0] - 0.5, 0) + 3 * np.maximum(X[:, 1] + 0.5, 0)
    for rows in (X, X[:1], X[:3]):
        for _ in range(2):
            np.testing.assert_allclose(expansion.score(rows)[:, 0], (fourier + hinges)[: len(rows)], atol=1e-12)


def test_files_sums_and_single_terms(expansion, tmp_path):
    rffkern.save(expansion, tmp_path / "e.npz")
    np.testing.assert_array_equal(rffkern.load(tmp_path / "e.npz").score(X), expansion.score(X))
    np.testing.assert_allclose((expansion + expansion).score(X), 2 * expansion.score(X))
    assert expansion._reads().tolist() == [[True, False], [True, False], [False, True]]
    last = expansion._take(np.array([2])).score(X)[:, 0]
    np.testing.assert_allclose(last, 3 * np.maximum(X[:, 1] + 0.5, 0))
    assert repr(expansion) == "Expansion(fourier=1, hinges=2, n_features=2, n_outputs=1)"


def sparse_case():
    """Rows of many columns, most of them empty, and a function of few of these."""
    rng, d = np.random.default_rng(1), FEWEST_SPARSE
    rows = rng.standard_normal((40, d)) * (rng.random((40, d)) < 0.05)
    omegas, slopes = np.zeros((2, d)), rng.standard_normal((d, 1))
    omegas[:, [3, 400]] = rng.standard_normal((2, 2))
    return rows, [FourierTerms(omegas, [0.1, 0.2], [[1.0], [2.0]]), LinearTerms(slopes),
                  TreeTerms([[5, 200], [3, 0]], [[0.1, -0.2], [0.3, parts.UNREACHED]], rng.standard_normal((6, 1))),
                  HingeTerms([7, 3, 500], [-0.5, 0.1, 0.0], [[1.0], [-2.0], [3.0]])]


def test_scores_of_sparse_rows():
    rows, terms = sparse_case()
    expansion = Expansion([1.0], np.full(rows.shape[1], 0.1), *terms, lower=np.full(rows.shape[1], -0.7))
    found = expansion._score_sparse(SparseRows.of_dense(rows), None)
    np.testing.assert_allclose(found, expansion.score(rows), atol=1e-12)
    assert expansion._narrow[0][0].tolist() == [3, 5, 7, 200, 400, 500]


def test_a_part_of_the_fullest_columns_as_one_of_all():
    rows, terms = sparse_case()
    columns = np.array([3, 5, 7, 200, 400, 500])
    sparse = SparseColumns(SparseRows.of_dense(rows), columns, *np.zeros((4, rows.shape[1])))
    places = np.full(rows.shape[1], -1)
    places[columns] = np.arange(len(columns))
    for part in terms:
        if part.kind == "linear":  # which is of all columns as it is learned
            assert sparse.widened(part) is part
            continue
        narrow = part._with_columns(places, len(columns))
        wide = Expansion([0.0], np.zeros(rows.shape[1]), sparse.widened(narrow))
        found = Expansion([0.0], np.zeros(len(columns)), narrow).score(rows[:, columns])
        np.testing.assert_allclose(found, wide.score(rows), atol=1e-12)
        assert np.ptp(found) > 0.1


def test_it_reads_no_column_with_an_order_or_without_leave():
    free = Constraints(np.array([1, 0], np.int8), np.array([True, True]), np.array([True, False]), np.empty(0, np.intp),
                       np.array([0]))
    first, second = (Expansion([0.0], [0.0, 0.0], HingeTerms([j], [0.5], [[1.0]])) for j in (0, 1))
    check_constraints(second, free, np.arange(2))
    apart = free._replace(signs=np.zeros(2, np.int8), usable=np.array([False, True]))
    for constraints in (free, apart):
        with pytest.raises(RuntimeError, match="defect of rffkern"):
            check_constraints(first, constraints, np.arange(2))


def test_smaller_models(rng):
    X = rng.standard_normal((500, 2))
    y = np.sin(X[:, 0]) + 3 * np.maximum(X[:, 1], 0)
    model = FourierBoostingRegressor(20, n_bags=1, columns=None, kernel_ridge=False, random_state=0).fit(
        X[:300], y[:300])
    knots = rng.standard_normal(8)
    hinges = HingeTerms(np.arange(8) % 2, knots, rng.standard_normal((8, 1)))
    y[300:] += Expansion([0.0], [0.0, 0.0], hinges).score(X[300:])[:, 0]
    fitted = model.expansion_
    whole = Expansion(fitted.intercept, fitted.center, *fitted.parts, hinges, lower=fitted.lower, upper=fitted.upper)
    vars(model).update(expansion_=whole, term_rounds_=np.concatenate([model.term_rounds_, np.ones(8)]))

    some = np.arange(whole.n_terms)
    of_terms = shrink._scores_of_terms(whole, some, whole._scorer.clip(X), None)
    for term in some:
        np.testing.assert_allclose(of_terms[term].T, whole._take(some[[term]]).score(whole._scorer.clip(X)), atol=1e-12)
    twice = Expansion([0.0], whole.center, *shrink._scaled(whole._take(some), np.full(len(some), 2.0)))
    np.testing.assert_allclose(twice.score(X), 2 * whole._take(some).score(X), atol=1e-9)
    assert shrink._sizes(whole, some)[-8:].tolist() == [12.0] * 8

    small = rffkern.shrink(model, X[300:], y[300:], max_loss=0.2).model
    assert 0 < small.expansion_.hinges.n_terms <= 8
    assert len(small.term_rounds_) == small.expansion_.n_terms < whole.n_terms
    assert 1 - small.score(X[300:], y[300:]) < 1.5 * (1 - model.score(X[300:], y[300:]))


class Unready(HingeTerms):
    """The same, before it has all methods."""

    _linear_in = ""
    _with_columns = parts.Part._with_columns


def test_what_it_has_no_method_for_refuses_it_by_name(expansion):
    rows, terms = sparse_case()
    unready = Unready(*terms[-1].arrays().values())
    of_sparse = Expansion([0.0], np.zeros(FEWEST_SPARSE), unready)
    with pytest.raises(InvalidInputError, match="kind 'hinges' cannot read some columns alone, as of sparse rows"):
        of_sparse._score_sparse(SparseRows.of_dense(rows), None)
    with pytest.raises(InvalidInputError, match="kind 'hinges' cannot be left out by shrink"):
        shrink._scores_of_terms(Expansion([0.0], np.zeros(FEWEST_SPARSE), terms[0], unready), np.arange(2, 4), rows, 1)
    with pytest.raises(InvalidInputError, match="kind 'hinges' have no gradient"):
        gradient_of_row(expansion, X[0])
    with pytest.raises(InvalidInputError, match="kind 'hinges' have no bound"):
        Neighbourhood(expansion, X[0], np.ones((2, 1))).rise(np.ones(1))


def test_what_has_to_write_it_in_its_own_language_refuses_it_by_name(expansion, tmp_path):
    with pytest.raises(InvalidInputError, match="terms of kind 'hinges' cannot be exported"):
        rffkern.export(expansion, tmp_path / "out", to="c")
    with pytest.raises(InvalidInputError, match="hinges"):
        rffkern.c_model(expansion)


# What C has of it: in rff_parts.h its kind, arrays, fields and sum, in rff_expansions.h what reads it.
IN_C = {
    "RFF_PART_TREES, ": "RFF_PART_HINGES, ",
    '{"tree_columns", "tree_thresholds", "tree_values", NULL},':
        '{"hinge_columns", "hinge_knots", "hinge_amplitudes", NULL},',
    "typedef struct {\nrff_expansion_kind kind;":
        "size_t n_hinges;\nconst double *hinge_columns, *hinge_knots, *hinge_amplitudes;",
    "return X->type == RFF_FLOAT32 ? ((const float *)X->values)[place] : ((const double *)X->values)[place];\n}": """
static void rff_add_hinges(const rff_expansion *e, const rff_rows *X, size_t row, size_t n_rows, double *out)
{
    size_t i, m, o;
    for (i = 0; i < n_rows; i++)
        for (m = 0; m < e->n_hinges; m++) {
            const double x = rff_value(X, row + i, (size_t)e->hinge_columns[m]) - e->hinge_knots[m];
            for (o = 0; o < e->n_outputs && x > 0; o++)
                out[i * e->n_outputs + o] += x * e->hinge_amplitudes[m * e->n_outputs + o];
        }
}""",
    "+ expansion->n_trees": " + expansion->n_hinges",
    "rff_round_values(expansion, values, rounded);\nreturn 1;\n}": """
static int rff_read_hinges(rff_file *file, rff_model *model)
{
    rff_expansion *e = &model->expansion;
    e->n_hinges = rff_find_array(file, "hinge_knots")->size;
    return rff_take(file, model, "hinge_columns", 1, e->n_hinges, 0, &e->hinge_columns)
           && rff_take(file, model, "hinge_knots", 1, e->n_hinges, 0, &e->hinge_knots)
           && rff_take(file, model, "hinge_amplitudes", 2, e->n_hinges, e->n_outputs, &e->hinge_amplitudes);
}""",
    "{rff_read_trees, NULL},": "{rff_read_hinges, rff_add_hinges},",
}

PROGRAM = """
#include "rffscore.c"
int main(int argc, char **argv)
{
    rff_model *model;
    double rows[600], scores[300];
    char *scratch;
    size_t size;
    if (argc != 2 || rff_load(argv[1], 0, &model, NULL) != RFF_OK || fread(rows, 8, 600, stdin) != 600) return 1;
    if (rff_prepare_explanations(model, NULL) != RFF_E_UNSUPPORTED) return 3;
    size = rff_scratch_size(model, 300);
    scratch = (char *)malloc(size);
    if (rff_score(model, RFF_FLOAT64, rows, 300, scores, scratch, size) != RFF_OK) return 2;
    return fwrite(scores, 8, 300, stdout) != 300;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(compiler() is None, reason="there is no C compiler: set CC")
def test_c_reads_and_scores_it_where_two_files_have_it(expansion, tmp_path):
    text = pathlib.Path(rffkern.get_include(), "rffscore.c").read_text(encoding="utf-8")
    for after, new in IN_C.items():
        assert text.count(after) == 1, after
        text = text.replace(after, f"{after}{new}\n")
    (tmp_path / "rffscore.c").write_text(text, encoding="utf-8")
    (tmp_path / "program.c").write_text(PROGRAM, encoding="utf-8")
    program = build(tmp_path, (*STRICT, "-Wno-unknown-pragmas", "-DRFF_MOST_LEVEL=1"), tmp_path / "program.c")
    rffkern.save(expansion, tmp_path / "e.npz")
    found = subprocess.run([program, tmp_path / "e.npz"], input=X.tobytes(), capture_output=True, check=True).stdout
    np.testing.assert_allclose(np.frombuffer(found), expansion.score(X)[:, 0], atol=1e-12)


def test_an_export_to_c_has_its_sum(expansion, tmp_path, monkeypatch):
    monkeypatch.setattr(HingeTerms, "_exported", lambda self, center: self.arrays() | {
        "hinge_columns": self.hinge_columns.astype(np.int64)})
    with pytest.raises(InvalidInputError, match="terms of kind 'hinges' cannot be exported to this target"):
        rffkern.export(expansion, tmp_path / "e.c", to="c")
    monkeypatch.setitem(c_program._PARTS, "hinges", """\
    for (int t = 0; t < $n; t++) {
        for (int k = 0; k < $n_outputs; k++) {
            ${each}h[k$row] += hinge_amplitudes[t * $n_outputs + k]
                * larger(0, z[hinge_columns[t]$row] - hinge_knots[t]);
        }
    }
""")
    rffkern.export(expansion, tmp_path / "e.c", to="c")
    assert "hinge_knots[t]" in (tmp_path / "e.c").read_text(encoding="utf-8")
