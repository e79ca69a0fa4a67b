"""Model files that are damaged or crafted: refused with FormatError, or read exactly as they are."""

import io
import math
import mmap
import pathlib
import time
import zipfile

import numpy as np
from helpers.children import in_child, memory, reset_peak
from helpers.damaged_files import MUTATIONS, sign

import rffkern
from rffkern import FormatError

FIXTURES = sorted(pathlib.Path(__file__).parents[2].glob("tests/data/*/*.npz"))
FILES_PER_CASE = 50
MAX_SECONDS = 1.0  # of CPU, per file
CASE_SECONDS = 300  # of a clock, on a machine that others use


def _stored(archive, name, shape):
    """An array of a file in double precision, with the zeros of omegas that are kept without them."""
    stored = archive[name].astype(np.float64)
    if name != "omegas" or "omega_gaps" not in archive.files:
        return stored
    omegas = np.zeros(math.prod(shape))
    omegas[np.cumsum(archive["omega_gaps"]).astype(int) - 1] = stored
    return omegas.reshape(shape)


def _agree(name, stored, array):
    """Whether an array is that of a file; values of trees are rounded."""
    if stored.shape != array.shape:
        return False
    if name != "tree_values":
        return stored.tobytes() == array.tobytes()
    return np.allclose(array, stored, rtol=1e-6, atol=1e-40 + 1e-40 * np.abs(stored).max(initial=0.0))


def judge(path, content, original):
    """What is wrong with how a file is read, or None."""
    before, started = reset_peak(), time.process_time()
    try:
        model = rffkern.load(path)
    except FormatError as error:
        model = None
        if isinstance(error.__cause__, MemoryError):
            return "asked for more memory than there was"
    seconds, peak = time.process_time() - started, memory("VmHWM") - before
    if seconds > MAX_SECONDS:
        return f"took {seconds:.1f} s"
    if peak > 50e6 + 4 * len(content):
        return f"took {peak / 1e6:.0f} MB for {len(content)} bytes"
    if model is None or content == original:
        return None if model is None or content == original else "refused"
    if content != sign(content):
        return "was accepted with a wrong checksum"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if archive.testzip() is not None:
            return "was accepted with a wrong checksum of a member"
    if isinstance(model, rffkern.ColumnMap):
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            if archive["columns"].astype(np.float64).tobytes() != model._fitted.numbers().tobytes():
                return "was accepted with other numbers in the columns"
        found = model.transform({name: [None, 1.0] for name in model._fitted.column_names()}
                                if all(column.kind == "numeric" for column in model._fitted.columns) else
                                [[None] * model.n_features_in_] * 2)
        return None if np.isfinite(found).all() else "gave nan or inf"
    expansion = getattr(model, "expansion_", model)
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        for name, array in expansion.arrays().items():
            if not _agree(name, _stored(archive, name, array.shape), array):
                return f"was accepted with other numbers in {name}"
    expansion.score(np.zeros((3, expansion.n_features)))
    return None


def damaged_files(rng, folder):
    """Files that are mutated in a child with limits, each judged on its own."""
    path = folder / "model.npz"
    progress = mmap.mmap(-1, mmap.PAGESIZE)  # a file that is written over again is slow on disks

    def work():
        for number in range(FILES_PER_CASE):
            original = FIXTURES[rng.integers(len(FIXTURES))].read_bytes()
            mutation = MUTATIONS[rng.integers(len(MUTATIONS))]
            content = mutation(rng, original)
            path.unlink(missing_ok=True)
            path.write_bytes(content)
            progress[:80] = f"file {number}, {mutation.__name__}".ljust(80).encode()
            wrong = judge(path, content, original)
            if wrong:
                return f"file {number}, {mutation.__name__}: {wrong}"
        return None

    ended = in_child(work, seconds=CASE_SECONDS, n_bytes=1 << 31)
    if ended.how == "done":
        return ended.value
    return f"{progress[:80].decode().strip(chr(0) + ' ') or 'at once'}: {ended.how} {ended.value}"
