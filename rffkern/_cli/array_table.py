"""Tables in NumPy files: rows of a .npy file, or X (and y) of a .npz archive."""

import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._column_map.raw import EMPTY, NUMERIC, has_large_integers
from ..errors import InvalidInputError
from .number_rows import number_block
from .table import BLOCK_ROWS, Block, Reading, Wanted, as_given, check_column_names


class _Arrays(NamedTuple):
    X: NDArray[Any]
    y: NDArray[Any] | None = None
    columns: list[str] | None = None


class ArrayTable:
    """Rows of a .npy file, which stay in the file until they are read, or of an archive, which is read at once."""

    guessed_data = False

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.X, self.y, self.columns = _read(path)
        except (ValueError, EOFError, KeyError, MemoryError, zipfile.BadZipFile) as error:
            raise InvalidInputError(f"{path}: not a NumPy file of plain arrays: {error}") from error
        if self.X.ndim != 2 or self.X.dtype.kind not in "fiub":
            raise InvalidInputError(f"{path}: expected a 2-D numeric array, got dtype {self.X.dtype} of shape "
                                    f"{self.X.shape}")
        self.n_columns: int = self.X.shape[1]
        self.total: int | None = self.X.nbytes
        self.has_labels = self.y is not None

    def is_held(self, features: Sequence[int]) -> bool:
        """Whether these columns, as numbers to train on, are in memory already."""
        return not isinstance(self.X, np.memmap) and self.X.dtype in (np.float32, np.float64) \
            and self.X.flags.c_contiguous and list(features) == list(range(self.n_columns))

    def reading(self, wanted: Wanted) -> Reading:
        """All rows; labels come from column `target` or else from y, as they are, and `done` counts bytes."""
        return Reading(self._blocks(wanted), as_given)

    def _blocks(self, wanted: Wanted) -> Iterator[Block]:
        cells = [each if each.kind == EMPTY else each._replace(kind=NUMERIC) for each in wanted.cells_of_features()]
        unread = [k for k, each in enumerate(cells) if each.kind == EMPTY]
        in_order = list(wanted.features) == list(range(self.n_columns))
        for start in range(0, self.X.shape[0], BLOCK_ROWS):
            rows = self.X[start : start + BLOCK_ROWS]
            labels = rows[:, wanted.target] if wanted.target is not None \
                else self.y[start : start + BLOCK_ROWS] if self.y is not None else None
            done = self.X.itemsize * self.n_columns * min(start + BLOCK_ROWS, self.X.shape[0])
            words = [list(map(str, rows[:, j].tolist())) for j in wanted.words]
            # All columns in their order need no copy, which costs as much as scoring a model of few terms.
            X = np.ascontiguousarray(rows if in_order and not unread else rows[:, wanted.features]).view(np.ndarray)
            if unread:
                X[:, unread] = 0
            rounded = [k for k in range(X.shape[1]) if X.dtype.kind in "iu" and X.dtype.itemsize == 8
                       and has_large_integers(X[:, k])]
            block = Block(X, labels, done, words, cells=cells, rounded=rounded)
            yield number_block(block, wanted, start, self)


def _read(path: str) -> _Arrays:
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe, which can be neither mapped nor read twice
        with open(path, "rb") as file:
            loaded = np.load(io.BytesIO(file.read()), allow_pickle=False)
    else:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        return _Arrays(loaded)
    with loaded:
        return _read_archive(path, loaded)


def _read_archive(path: str, archive: Any) -> _Arrays:
    if "X" not in archive.files:
        raise InvalidInputError(f"{path}: expected an array named X, got {archive.files}")
    X = archive["X"]
    y = archive["y"] if "y" in archive.files else None
    if y is not None and (y.ndim not in (1, 2) or y.shape[0] != X.shape[0]):
        raise InvalidInputError(f"{path}: expected y of shape {X.shape[:1]}, or a column for each target, "
                                f"got {y.shape}")
    if y is not None and y.shape[1:] == (1,):
        y = y[:, 0]
    columns = None
    if "feature_names" in archive.files and archive["feature_names"].shape == X.shape[1:]:
        columns = [str(name) for name in archive["feature_names"]]
        check_column_names(path, columns)
    return _Arrays(X, y, columns)
