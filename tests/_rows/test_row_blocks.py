"""Searches on subsets of the rows, and rows that are read block by block."""

import subprocess
import sys
import tracemalloc
from unittest import mock

import numpy as np
import pytest
from helpers.families import quick
from hypothesis import given
from hypothesis import strategies as st

from rffkern import GBRFF2Classifier, InvalidInputError, RowBlocks
from rffkern._estimator.registry import FAMILIES
from rffkern._rows import row_blocks as _row_blocks


def waves(seed, n_samples, n_features=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n_samples) > 0, 1, -1)


def cut(X, sizes):
    """RowBlocks over X cut after the given numbers of rows, then whole."""
    return RowBlocks(lambda: np.split(X, np.cumsum(sizes)))


def small_blocks():
    """2048 rows each, so that a few thousand make several."""
    return mock.patch.object(_row_blocks, "BLOCK_ELEMENTS", 1)


def same(a, b, atol=0.0):
    for name in ("omegas", "phases", "amplitudes", "intercept", "center"):
        np.testing.assert_allclose(a.expansion_.arrays()[name], b.expansion_.arrays()[name], rtol=0, atol=atol)


# --- subsets

def test_a_round_descends_on_its_part_alone():
    """Other labels for the rows of the second part change the first step, but neither omega nor phase."""
    X, y = waves(0, 1024)
    order = np.random.default_rng(5)
    order.standard_normal((1, 1, 5))
    second = order.permutation(1024)[512:]
    other = y.copy()
    other[second] = y[second[::-1]]
    models = [GBRFF2Classifier(1, max_samples=512, random_state=5).fit(X, labels).expansion_ for labels in (y, other)]
    np.testing.assert_array_equal(models[0].fourier.omegas, models[1].fourier.omegas)
    np.testing.assert_array_equal(models[0].fourier.phases, models[1].fourier.phases)
    assert models[0].fourier.amplitudes[0, 0] != models[1].fourier.amplitudes[0, 0]


def test_a_sample_of_all_rows_is_no_sample():
    X, y = waves(0, 700)
    same(*(GBRFF2Classifier(10, max_samples=m, random_state=0).fit(X, y) for m in (700, None)))


def test_samples_learn_almost_as_well():
    """A sixteenth of the rows in each descent; step and update use all, so that the loss over all rows falls."""
    X, y = waves(0, 25000)
    held_out = {}
    for max_samples in (1250, None):
        models = [GBRFF2Classifier(60, max_samples=max_samples, random_state=seed).fit(X[:20000], y[:20000])
                  for seed in range(3)]
        held_out[max_samples] = np.mean([np.exp(-y * model.decision_function(X))[20000:].mean() for model in models])
        assert (np.diff(models[0].train_loss_) <= 1e-6 * models[0].train_loss_[:-1]).all()
        assert models[0].train_loss_[-1] == pytest.approx(
            np.exp(-y * models[0].decision_function(X))[:20000].mean(), rel=1e-5)
    assert held_out[1250] < 1.15 * held_out[None] < 0.65


@pytest.mark.parametrize("streamed", [False, True])
def test_bits_of_samples_do_not_depend_on_threads(streamed):
    X, y = waves(0, 300_000, 4)
    X = RowBlocks([X]) if streamed else X
    same(*(GBRFF2Classifier(3, max_samples=100_000, random_state=0, n_jobs=n).fit(X, y) for n in (1, 3)))


def test_samples_of_a_sorted_file():
    """Rows sorted by class: parts are drawn at random, not cut from the file."""
    X, y = waves(0, 4000)
    order = np.argsort(y)
    model = GBRFF2Classifier(50, max_samples=500, random_state=0).fit(X[order], y[order])
    assert model.score(X, y) > 0.85


# --- streaming

@given(st.lists(st.integers(0, 900), max_size=6), st.integers(0, 2**32 - 1))
def test_cuts_make_no_difference(sizes, seed):
    X, y = waves(seed, 5000, 3)
    model = GBRFF2Classifier(2, max_iter=2, max_samples=2000, random_state=0)
    with small_blocks():
        assert [rows.stop for rows, _ in cut(X, sizes)._check()._blocks()] == [2048, 4096, 5000]
        whole = model.fit(RowBlocks([X]), y).expansion_
        cut_model = model.fit(cut(X, sizes), y)
    np.testing.assert_array_equal(whole.fourier.omegas, cut_model.expansion_.fourier.omegas)
    np.testing.assert_array_equal(whole.fourier.amplitudes, cut_model.expansion_.fourier.amplitudes)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_samples", [1000, 10000])
def test_streamed_is_packed_up_to_rounding(weighted, max_samples):
    """The same samples, the same sums in another order; over many rounds the rounding would grow."""
    X, y = waves(3, 6000)
    y = np.where(X[:, 3] > 1, 2, y)
    weight = np.random.default_rng(0).integers(0, 3, 6000) if weighted else None
    eval_weight = None if weight is None else 1 + weight[:5000]
    with small_blocks():
        packed, streamed = (GBRFF2Classifier(4, max_samples=max_samples, precision="double", random_state=0).fit(
            source, y, weight, eval_set=(evaluation, y[:5000], eval_weight)) for source, evaluation in (
                (X, X[:5000]), (cut(X, [17, 3000]), cut(X[:5000], [100]))))
    same(packed, streamed, atol=1e-6)
    np.testing.assert_allclose(packed.train_loss_, streamed.train_loss_, rtol=1e-9)
    np.testing.assert_allclose(packed.eval_loss_, streamed.eval_loss_, rtol=1e-9)


def test_memmap_trains_by_streaming(tmp_path):
    X, y = waves(1, 3000)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    memmap = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = GBRFF2Classifier(5, max_samples=1000, random_state=0).fit(memmap, y)
    same(model, GBRFF2Classifier(5, max_samples=1000, random_state=0).fit(RowBlocks([np.asarray(memmap)]), y))
    np.testing.assert_array_equal(model.decision_function(memmap), model.decision_function(np.asarray(memmap)))


@pytest.mark.parametrize("interrupt", [lambda info: info.n_rounds == 3, None])
def test_an_interrupted_fit_on_a_memmap_goes_on(tmp_path, interrupt):
    """A callback ends a fit, or Ctrl-C the second; the next fit goes on from the rounds that are kept, bit by bit."""
    X, y = waves(1, 3000)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    memmap = np.load(tmp_path / "X.npy", mmap_mode="r")
    with small_blocks():
        model = GBRFF2Classifier(8, max_samples=1000, warm_start=True, random_state=0)
        if interrupt is None:
            model.set_params(n_estimators=3).fit(memmap, y).set_params(n_estimators=8)
            with pytest.raises(KeyboardInterrupt):
                model.fit(memmap, y, callback=_ctrl_c)
        else:
            model.fit(memmap, y, callback=interrupt)
        assert model.n_estimators_ == 3
        model.fit(memmap, y)
        same(model, GBRFF2Classifier(8, max_samples=1000, warm_start=True, random_state=0).fit(memmap, y))


def _ctrl_c(info):
    raise KeyboardInterrupt


def test_rows_are_scored_block_by_block():
    X, y = waves(1, 3000)
    model = GBRFF2Classifier(5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(cut(X, [1, 0, 2000])), model.predict_proba(X))
    assert model.score(cut(X, [1500]), y) == model.score(X, y)


def test_integers_stream_too():
    X = np.random.default_rng(0).integers(0, 9, (600, 3))
    y = X[:, 0] > X[:, 1]
    same(*(GBRFF2Classifier(5, random_state=0).fit(source, y) for source in (RowBlocks([X[:50], X[50:]]), X)))


class Changing:
    """Gives another number of rows in its second pass."""

    passes = 0

    def __init__(self, n_later):
        self.n_later = n_later

    def __iter__(self):
        self.passes += 1
        yield waves(0, 200 if self.passes == 1 else self.n_later)[0]


@pytest.mark.parametrize(("source", "message"), [
    (iter([np.zeros((3, 2))]), "read more than once, got an iterator"), (3, "source must be a function"),
    (lambda: [np.zeros((3, 2)), np.zeros((3, 4))], "X must be blocks of equally many columns, got 2, then 4"),
    (lambda: [np.zeros((3, 2)), np.full((3, 2), np.nan)], "got NaN at row 0, column 0 .in the block from row 3"),
    (lambda: [np.zeros(3)], "Expected 2D array"), (lambda: [], "Found blocks with 0 sample"),
    (Changing(201), "X must give the same rows in every pass, got .200, 5. in the first and .201, 5. by now"),
    (Changing(150), "X must give the same rows in every pass, got .200, 5. in the first and .150, 5. by now"),
    (lambda: None, "source must give blocks of rows"), (np.array(3.0), "source must give blocks of rows"),
    (lambda: [[[1, 2], [3]]], "X must be a rectangular array"), (lambda: [4.0], "Expected 2D array, got 0D"),
])
def test_bad_blocks(source, message):
    with pytest.raises(InvalidInputError, match=message):
        GBRFF2Classifier(2, columns=None).fit(RowBlocks(source), np.arange(200) % 2)


def test_row_blocks_are_no_array():
    X, y = waves(0, 300)
    model = GBRFF2Classifier(3, random_state=0).fit(X, y)
    for read in (model.expansion_.score, lambda rows: next(model.staged_decision_function(rows))):
        with pytest.raises(InvalidInputError, match="RowBlocks are read by fit, predict"):
            read(RowBlocks([X]))
    with pytest.raises(InvalidInputError, match="Found blocks with 0 sample"):
        model.predict(RowBlocks([[]]))


def test_mapped_files_of_other_shapes_are_refused_as_arrays_are(tmp_path):
    for shape in ((60,), (3, 10, 2)):
        np.save(tmp_path / "X.npy", np.zeros(shape))
        with pytest.raises(InvalidInputError, match=f"got {len(shape)}D array of shape"):
            GBRFF2Classifier(2).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), np.arange(shape[0]) % 2)


@pytest.mark.parametrize("later", [201, 2047, 2048, 2049, 9000])
@pytest.mark.parametrize("cut_after", [[], [199], [200]])
def test_a_later_pass_that_grows_is_refused(later, cut_after):
    """No row beyond those of the first pass is given to anyone, however the later pass is cut."""
    first, grown = waves(0, 200)[0], waves(0, later)[0]
    passes = iter([[first], np.split(grown, cut_after)])
    blocks = RowBlocks(lambda: next(passes))._check()
    taken, message = [], rf"got \(200, 5\) in the first and \({later}, 5\) by now"
    with small_blocks(), pytest.raises(InvalidInputError, match=message):
        taken.extend(rows.stop for rows, _ in blocks._blocks())
    assert max(taken, default=0) <= 200


class Frame:
    """Rows with column names."""

    def __init__(self, array, columns):
        self.array, self.columns = array, columns

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __len__(self):
        return len(self.array)


def test_column_names_of_blocks_are_kept_and_checked():
    X, y = waves(0, 300)
    right, wrong = Frame(X, list("abcde")), Frame(X, list("bacde"))
    model = GBRFF2Classifier(3, random_state=0).fit(RowBlocks([right]), y)
    assert model.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(model.predict(RowBlocks(right)), model.predict(right))
    for read in (lambda: model.predict(RowBlocks([right, wrong])),
                 lambda: GBRFF2Classifier(3).fit(right, y, eval_set=(RowBlocks([wrong]), y))):
        with pytest.raises(InvalidInputError, match="feature names should match"):
            read()
    with pytest.raises(InvalidInputError, match="X must be blocks of the same columns"):
        GBRFF2Classifier(3).fit(RowBlocks([right, wrong]), np.r_[y, y])


@pytest.mark.parametrize("other", [5.0, 1e200])
def test_rows_without_weight_decide_nothing(other):
    """Neither which columns vary, nor their unit, nor the precision: as in memory, where such rows are dropped."""
    X, y = waves(0, 3000)
    weight = np.ones(3000)
    weight[100:200] = 0
    X[:, 3] = 0.1
    X[100:200, 2:4] = other
    with small_blocks():
        packed, streamed = (GBRFF2Classifier(10, max_samples=1000, precision="double", random_state=0)
                            .fit(source, y, weight) for source in (X, RowBlocks([X])))
    assert not streamed.expansion_.fourier.omegas[:, 3].any()
    np.testing.assert_allclose(streamed.decision_function(X), packed.decision_function(X), atol=1e-6)


def test_labels_must_be_as_many_as_rows():
    with pytest.raises(InvalidInputError, match=r"y must have one entry per row of X \(300\), got 299"):
        GBRFF2Classifier(2).fit(RowBlocks([waves(0, 300)[0]]), np.arange(299) % 2)


# --- the object itself

@pytest.mark.parametrize("sizes", [[], [0, 10, 10], [2048], [5000], [2047, 2049, 4097], [1] * 20])
def test_blocks_cover_all_rows_in_order(sizes):
    X, _ = waves(0, 5000)
    with small_blocks():
        found = [(rows, block.copy()) for rows, block in cut(X, sizes)._check()._blocks()]
    assert [(rows.start, rows.stop) for rows, _ in found] == [(0, 2048), (2048, 4096), (4096, 5000)]
    np.testing.assert_array_equal(np.concatenate([block for _, block in found]), X)


def test_blocks_of_an_array_can_come_in_random_order():
    X, _ = waves(0, 7000)
    with small_blocks():
        rows = RowBlocks(X)._check()
        found = [(place.start, block.copy()) for place, block in rows._shuffled_blocks(np.random.default_rng(1))]
        listed = [place.start for place, _ in RowBlocks([X])._check()._shuffled_blocks(np.random.default_rng(1))]
    starts = [start for start, _ in found]
    assert starts == [2048 * k for k in np.random.default_rng(1).permutation(4)]
    assert listed == [0, 2048, 4096, 6144]
    np.testing.assert_array_equal(np.concatenate([block for _, block in sorted(found, key=lambda pair: pair[0])]), X)


def test_an_array_is_one_block():
    X, _ = waves(0, 50)
    (rows, block), = _row_blocks.blocks(X)
    assert block is X
    assert (rows.start, rows.stop) == (0, 50)


def test_given_blocks_are_as_given_without_empty_ones():
    first, empty, last = np.zeros((2, 3), np.float32), np.zeros((0, 3)), [[1, 2, 3]]
    assert [id(block) for block in RowBlocks([first, empty, last])._raw_blocks()] == [id(first), id(last)]


def test_rows_are_taken_by_index():
    X, _ = waves(0, 5000)
    indices = np.array([4999, 0, 2048, 0, 2047])
    with small_blocks():
        for source in (X, cut(X, [100])._check()):
            np.testing.assert_array_equal(_row_blocks.take_rows(source, indices), X[indices])


def test_shape_and_names_are_known_after_a_first_pass():
    X, _ = waves(0, 30)
    blocks = RowBlocks([Frame(X, list("abcde"))] * 2)
    assert blocks.shape is None
    assert repr(blocks) == "RowBlocks(list, shape=None)"
    assert blocks._check() is blocks
    assert blocks.shape == (60, 5)
    assert list(blocks.columns) == list("abcde")
    with pytest.raises(InvalidInputError, match=r"Found blocks with 60 sample\(s\) in all while a minimum of 61"):
        blocks._check(min_samples=61)


def test_checked_rows_stay_where_they_are(tmp_path):
    X, _ = waves(0, 30)
    np.save(tmp_path / "X.npy", X)
    mapped, names = _row_blocks.check_rows(np.load(tmp_path / "X.npy", mmap_mode="r"))
    assert isinstance(mapped, RowBlocks)
    assert names is None
    blocks = RowBlocks([X])
    assert _row_blocks.check_rows(blocks)[0] is blocks
    assert _row_blocks.check_rows(X)[0] is X


# --- memory

@pytest.mark.parametrize("precision", ["single", "double"])
def test_memory_is_what_the_docstring_says(precision):
    """Peak of the rounds beside X, as numpy reports it, against the formulas of the docstring."""
    n, d, m = 120_000, 30, 4096
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    y = X[:, 0] * X[:, 1] > 0
    peaks = {}
    blocks = RowBlocks(lambda: np.array_split(X, 99))
    for name, source, max_samples in (("packed", X, None), ("sampled", X, m), ("streamed", blocks, m)):
        model = GBRFF2Classifier(3, max_samples=max_samples, precision=precision, random_state=0, n_jobs=1)
        model.fit(X[:1000], y[:1000])  # what is imported late
        seen = []

        def watch(_, seen=seen):
            seen.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.reset_peak()

        tracemalloc.start()
        model.fit(source, y, callback=watch)
        tracemalloc.stop()
        peaks[name] = max(seen[1:])  # the first holds the preparations too
    unit = 4 if precision == "single" else 8
    state = 8 + 3 * unit  # predictions, y, residuals, learner
    slack = 400_000
    assert n * (unit * d + state) < peaks["packed"] < n * (unit * d + state + 2 * unit) + slack
    assert peaks["sampled"] < n * (unit * d + state + 8) + 2 * unit * m + slack
    assert peaks["streamed"] < n * (state + 8) + m * ((8 + unit) * d + 2 * unit) + (8 + unit) * 2**20 + slack


LIMITED = """
import resource, sys
import numpy as np
from rffkern import GBRFF2Classifier
X = np.load(sys.argv[1], mmap_mode="r")
y = np.load(sys.argv[2])
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + 80 * 2**20,) * 2)
model = GBRFF2Classifier(3, random_state=0, n_jobs=1)
try:
    model.fit(np.asarray(X), y)
except MemoryError:
    print("not in memory", flush=True)
print(model.fit(X, y).score(X[:1000], y[:1000]) > 0.6)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_DATA limits what it should on Linux alone")
def test_training_on_more_than_the_memory_limit(tmp_path):
    """160 MB of rows, 80 MB to work in: packing them all fails, streaming them does not."""
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (400_000, 100))
    for start in range(0, 400_000, 50_000):
        X[start : start + 50_000] = np.random.default_rng(start).standard_normal((50_000, 100), dtype=np.float32)
    np.save(tmp_path / "y.npy", X[:, 0] > 0)
    done = subprocess.run([sys.executable, "-c", LIMITED, tmp_path / "X.npy", tmp_path / "y.npy"], cwd=tmp_path,
                          capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["not in memory", "True"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "coo_array", "csr_array", "lil_matrix"])
def test_sparse_matrices_are_read_block_by_block(form):
    """To the same bits as dense rows, in blocks of about a million numbers; no more is dense at a time."""
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.where(np.random.default_rng(0).random((9000, 300)) < 0.01, 1.5, 0.0)
    rows = RowBlocks(getattr(sparse, form)(dense))
    blocks = list(rows._raw_blocks())
    assert len(blocks) > 1
    assert max(block.shape[0] * block.shape[1] for block in blocks) <= 1 << 20
    np.testing.assert_array_equal(np.vstack([block.toarray() for block in blocks]), dense)
    y = dense[:, 0] + dense[:, 1] > 0
    few = slice(0, 500)
    part = getattr(sparse, form)(dense[few])
    ours, theirs = (GBRFF2Classifier(3, random_state=0).fit(RowBlocks(X), y[few]).predict_proba(RowBlocks(X))
                    for X in (part, dense[few]))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.task != "transformer"])
def test_every_family_learns_from_blocks_of_sparse_rows(name):
    """As the message about sparse rows says."""
    sparse = pytest.importorskip("scipy.sparse")
    (X, y), family = waves(0, 200), FAMILIES[name].load()
    ours, theirs = (family(random_state=0, **quick(family)).fit(RowBlocks(rows), y).predict(RowBlocks(rows))
                    for rows in (sparse.csr_matrix(X), X))
    np.testing.assert_array_equal(ours, theirs)
