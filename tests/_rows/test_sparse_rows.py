"""Sparse rows in canonical form."""

import numpy as np
import pytest
from helpers.compressed import Compressed, some_sparse
from hypothesis import given
from hypothesis import strategies as st

from rffkern import ColumnMap, GBRFF2Classifier, InvalidInputError, RowBlocks
from rffkern._native import scoring
from rffkern._rows import sparse_rows
from rffkern._rows.sparse_rows import SparseRows, dense_rows, is_sparse
from rffkern._rows.validation import check_array


@st.composite
def matrices(draw):
    """Compressed rows with cells in any order, some of them 0 or there several times."""
    n_rows, n_columns = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    counts = draw(st.lists(st.integers(0, 7), min_size=n_rows, max_size=n_rows))
    n_cells = sum(counts)
    indices = draw(st.lists(st.integers(0, n_columns - 1), min_size=n_cells, max_size=n_cells))
    values = draw(st.lists(st.sampled_from([0.0, -0.0, 1.0, 0.1, 0.2, -3.5, 1e300]), min_size=n_cells,
                           max_size=n_cells))
    index, value = (draw(st.sampled_from(kinds)) for kinds in ((np.int32, np.int64, np.uint8), (np.float64, np.int8)))
    values = np.array(values).clip(-4, 4).astype(value) if value == np.int8 else np.array(values, dtype=value)
    return Compressed(np.cumsum([0, *counts]).astype(index), np.array(indices, dtype=index), values,
                      (n_rows, n_columns))


@given(matrices())
def test_canonical_rows_are_the_dense_ones(matrix):
    before = [array.copy() for array in (matrix.indptr, matrix.indices, matrix.data)]
    rows, dense = SparseRows.of(matrix), matrix.toarray()
    np.testing.assert_array_equal(rows.toarray(), dense)
    assert (rows.data != 0).all()
    assert rows.indptr.dtype == np.intp
    assert rows.dtype == np.float64
    for i in range(len(rows)):
        assert (np.diff(rows.indices[rows.indptr[i] : rows.indptr[i + 1]]) > 0).all()
    np.testing.assert_array_equal(rows.rows(1, 4).toarray(), dense[1:4])
    chosen = np.arange(len(dense))[::-1].repeat(2)
    np.testing.assert_array_equal(rows.take(chosen).toarray(), dense[chosen])
    np.testing.assert_array_equal(SparseRows.of_dense(dense.astype(np.float64)).indices, rows.indices)
    some = np.arange(dense.shape[1])[::2]
    np.testing.assert_array_equal(rows.of_columns(some), dense[:, some])
    np.testing.assert_array_equal(rows.transposed().toarray(), dense.T)
    for array, old in zip((matrix.indptr, matrix.indices, matrix.data), before, strict=True):
        np.testing.assert_array_equal(array, old)  # what is given stays as it is


@given(st.integers(0, 200), st.integers(1, 6), st.integers(1, 5), st.integers(1, 3), st.integers(0, 9))
def test_products_with_vectors(n_rows, n_columns, n_vectors, n_threads, seed):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n_rows, n_columns)) < 0.3, rng.normal(size=(n_rows, n_columns)), 0)
    vectors = rng.normal(size=(n_columns, n_vectors))
    rows = SparseRows.of_dense(dense)
    found = rows.products(vectors, n_threads)
    np.testing.assert_allclose(found, dense @ vectors, atol=1e-12)
    np.testing.assert_array_equal(found, rows.products(vectors, 1))


@pytest.mark.parametrize(("arrays", "message"), [
    (([0, 2], [0, 3]), "indices must be columns"), (([0, 2], [0, -1]), "indices must be columns"),
    (([0, 1], [0, 1]), "indptr must be from 0"), (([0, 3, 2], [0, 1]), "indptr must not fall"),
    (([0, 2], [0]), "indices must have shape")])
def test_products_refuse_what_is_no_matrix(arrays, message):
    indptr, indices = np.array(arrays[0]), np.array(arrays[1], dtype=np.int32)
    with pytest.raises(ValueError, match=message):
        scoring.sparse_products(indptr, indices, np.ones(2), np.ones((3, 1)), np.empty((len(indptr) - 1, 1)), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.bool_, ">f8", np.float16])
def test_precision_is_kept_as_of_dense_rows(dtype):
    dense = some_sparse(20, 4, 0.5).astype(dtype)
    rows = SparseRows.of(Compressed.of(dense))
    assert rows.dtype == (np.dtype(dtype) if dtype in (np.float32, np.bool_) else np.float64)
    checked, expected = check_array(rows), check_array(dense)
    assert checked.dtype == expected.dtype
    np.testing.assert_array_equal(checked, expected)


@pytest.mark.parametrize(("arrays", "message"), [
    (([0, 1], [3], [1.0], (1, 3)), "columns from 0 to 2, got indices from 3 to 3"),
    (([0, 1], [-1], [1.0], (1, 3)), "columns from 0 to 2, got indices from -1 to -1"),
    (([0, 2], [0], [1.0], (1, 3)), "contradict each other"),
    (([0, 1, 0], [0], [1.0], (2, 3)), "contradict each other"),
    (([0, 1], [0], [1.0, 2.0], (1, 3)), "contradict each other"),
    (([0, 1], [0], [1j], (1, 3)), "Complex data not supported"),
    (([0, 1], [0], ["a"], (1, 3)), "must be numeric, got dtype <U1"),
    (([0, 1], [0], [np.nan], (1, 3)), "must be finite .*, got NaN at row 0, column 0"),
    (([0], [], [], (0, 3)), "0 sample"),
    (([0, 0], [], [], (1, 0)), "0 feature"),
])
def test_what_is_wrong_with_sparse_rows(arrays, message):
    indptr, indices, data, shape = arrays
    with pytest.raises(InvalidInputError, match=message):
        check_array(Compressed(np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.int64), data, shape),
                    min_samples=1)


def test_rows_of_no_matrix():
    class Sparse:
        nnz = 1

        def toarray(self):
            return np.eye(2)

    assert is_sparse(Sparse())
    with pytest.raises(InvalidInputError, match=r"with a method tocsr, .*, got a Sparse: call its toarray\(\)"):
        check_array(Sparse())
    with pytest.raises(InvalidInputError, match="Expected 2D array, got 1D array"):
        check_array(Compressed([0, 1], [0], [1.0], (1,)))


@pytest.mark.parametrize("columns", [None, "auto"])
def test_dense_rows_within_a_bound(monkeypatch, columns):
    """The message says how much they would take, and its advice works; scores are computed block by block."""
    X = np.tile(some_sparse(40, 10, 0.3), (8, 1))
    sparse, y = Compressed.of(X), X[:, 0] + X[:, 1] > 0
    model = GBRFF2Classifier(3, columns=columns, random_state=0).fit(sparse, y)
    scores = model.decision_function(X)
    monkeypatch.setattr(sparse_rows, "DENSE_BYTES", X.nbytes)
    dense_rows(sparse, "X")
    monkeypatch.setattr(sparse_rows, "DENSE_BYTES", X.nbytes - 1)
    message = r"320 rows x 10 columns x 8 bytes = 2\.38e-05 GiB, more than the limit of 2\.38e-05 GiB: pass fewer rows"
    for call in (lambda: GBRFF2Classifier(3, columns=columns).fit(sparse, y), lambda: ColumnMap().fit(sparse),
                 lambda: next(model.staged_predict(sparse)), lambda: model.expansion_.score(sparse),
                 lambda: GBRFF2Classifier(3).fit(X, y, eval_set=(sparse, y))):
        with pytest.raises(InvalidInputError, match=message):
            call()
    monkeypatch.setattr(sparse_rows, "BLOCK_NUMBERS", 500)
    assert [len(block) for block in SparseRows.of(sparse).blocks()] == [50] * 6 + [20]
    np.testing.assert_array_equal(model.decision_function(sparse), scores)
    monkeypatch.setattr("rffkern._rows.row_blocks.block_size", lambda n_columns: 100)
    again = GBRFF2Classifier(3, columns=columns, random_state=0).fit(RowBlocks(sparse), y)
    np.testing.assert_array_equal(again.decision_function(RowBlocks(sparse)), again.decision_function(X))


@pytest.mark.parametrize("dtype", [float, bool, "int8"])
def test_data_frames_of_sparse_columns(dtype):
    pandas = pytest.importorskip("pandas")
    dense = pandas.DataFrame((some_sparse(60, 5, 0.3) * 2).astype(dtype), columns=list("abcde"))
    zero = np.dtype(dtype).type(0)
    for frame in (dense.astype(pandas.SparseDtype(dtype, zero)),
                  dense.apply(lambda column: pandas.arrays.SparseArray(column, kind="block", fill_value=zero))):
        assert is_sparse(frame)
        rows = SparseRows.of(frame)
        np.testing.assert_array_equal(rows.toarray(), dense.to_numpy())
        assert [*rows.columns] == list("abcde")
    y = dense["a"] > 0
    model, other = (GBRFF2Classifier(3, columns=ColumnMap(), random_state=0).fit(X, y) for X in (dense, frame))
    assert other.feature_names_in_.tolist() == list("abcde")
    for X in (dense, frame, frame[list("edcba")]):  # a map finds columns by name
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(dense))
    with pytest.raises(InvalidInputError, match="feature names should match"):
        GBRFF2Classifier(3).fit(frame, y).predict(frame.rename(columns={"a": "z"}))


def test_data_frames_that_are_sparse_in_part_are_dense_tables():
    """So are those whose empty cells are missing values: all of their cells are something."""
    pandas = pytest.importorskip("pandas")
    dense = pandas.DataFrame(some_sparse(60, 2, 0.5), columns=["a", "b"])
    mixed = dense.assign(a=dense["a"].astype(pandas.SparseDtype(float, 0)))
    gaps = dense.astype(pandas.SparseDtype(float, np.nan))
    y = dense["b"] > 0
    expected = GBRFF2Classifier(3, columns="auto", random_state=0).fit(dense, y).predict_proba(dense)
    for frame in (mixed, gaps):
        assert not is_sparse(frame)
        found = GBRFF2Classifier(3, columns="auto", random_state=0).fit(frame, y).predict_proba(frame)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("form", ["bsr_array", "coo_matrix", "csc_array", "csr_matrix", "dia_matrix", "dok_array",
                                  "lil_matrix"])
def test_formats_of_scipy(form):
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.where(np.arange(60).reshape(10, 6) % 7 < 2, 1.5, 0.0)
    matrix = getattr(sparse, form)(dense)
    np.testing.assert_array_equal(SparseRows.of(matrix).toarray(), dense)
    y = np.arange(10) % 2
    model = GBRFF2Classifier(3, random_state=0).fit(matrix, y)
    np.testing.assert_array_equal(model.decision_function(matrix), model.decision_function(dense))
    assert ColumnMap().fit(matrix).transform(matrix).shape == (10, 6)


def test_encoders_of_scikit_learn_in_front():
    """Their sparse rows, a few columns of which are dense, in a pipeline."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"town": rng.choice([f"t{k}" for k in range(30)], 300), "size": rng.random(300)})
    y = frame["town"].isin([f"t{k}" for k in range(12)])
    encoder = ColumnTransformer([("words", OneHotEncoder(), ["town"])])
    assert is_sparse(encoder.fit_transform(frame))
    for columns in (None, "auto"):
        pipeline = make_pipeline(encoder, GBRFF2Classifier(100, columns=columns, random_state=0)).fit(frame, y)
        assert pipeline.score(frame, y) > 0.9
