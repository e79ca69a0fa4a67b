"""The interface in C as a library of this process, whose rows are cells."""

import ctypes

import numpy as np

OK, UNSUPPORTED, ROWS, WORDS, CELL, NOT_KEPT, COVERAGE = 0, 9, 11, 13, 14, 15, 16


class Cell(ctypes.Structure):
    """rff_cell."""

    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_double), ("text", ctypes.c_char_p),
                ("length", ctypes.c_size_t)]

    @classmethod
    def of(cls, value):
        """A cell of None, a number, text or its bytes, or a date of NumPy."""
        if value is None or (isinstance(value, np.datetime64) and np.isnat(value)):
            return cls(0)
        if isinstance(value, str | bytes):
            data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
            return cls(2, 0.0, data, len(data))
        if isinstance(value, np.datetime64):
            return cls(3, float(value.astype("M8[us]").astype(np.int64)) / 1e6)
        return cls(1, float(value))


class Info(ctypes.Structure):
    """rff_info."""

    _fields_ = [(name, ctypes.c_int32) for name in ("kind", "label_kind", "format_version", "takes_missing",
                                                    "has_feature_names", "reserved")]
    _fields_ += [(name, ctypes.c_size_t) for name in ("n_features", "n_mapped", "n_terms", "n_outputs", "n_classes",
                                                      "n_predictions")]
    _fields_ += [(name, ctypes.c_char_p) for name in ("family", "class_name", "takes_words", "target")]


class ColumnInfo(ctypes.Structure):
    """rff_column_info."""

    _fields_ = [*((name, ctypes.c_int32) for name in ("kind", "is_used", "has_rare_levels", "reserved")),
                ("n_levels", ctypes.c_size_t),
                *((name, ctypes.c_char_p) for name in ("name", "format", "dropped"))]


CALL = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
        ctypes.c_void_p, ctypes.c_void_p)


class CellModel:
    """A model of the library, which is loaded from bytes or a capsule."""

    def __init__(self, library, content):
        self._library, self._model, self._why = library, ctypes.c_void_p(), ctypes.c_char_p()
        for name in ("score", "predict", "predict_proba", "explain"):
            getattr(library, f"rff_{name}_cells").argtypes = CALL
        library.rff_predict_interval_cells.argtypes = (CALL[0], ctypes.c_double, *CALL[1:])
        library.rff_base_values.restype = ctypes.POINTER(ctypes.c_double)
        library.rff_scratch_size.restype = library.rff_find_column.restype = ctypes.c_size_t
        code = library.rff_load_memory(content, ctypes.c_size_t(len(content)), ctypes.byref(self._model),
                                       ctypes.byref(self._why))
        assert code == OK, self._why.value
        self._make_scratch()

    def _make_scratch(self):
        self._size = self._library.rff_scratch_size(self._model, ctypes.c_size_t(1))
        self._scratch = np.empty(self._size, np.uint8)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._library.rff_free(self._model)

    def __call__(self, rows, n_out, name="score", *coverage):
        """(Code, answers of shape (n_rows, n_out), row and column of the first cell that is refused)."""
        cells = (Cell * sum(map(len, rows)))(*(Cell.of(value) for row in rows for value in row))
        out, row, column = np.full((len(rows), n_out), np.nan), ctypes.c_size_t(-1), ctypes.c_size_t(-1)
        code = getattr(self._library, f"rff_{name}_cells")(
            self._model, *coverage, ctypes.cast(cells, ctypes.c_void_p), len(rows), out.ctypes.data,
            self._scratch.ctypes.data, self._size, ctypes.byref(row), ctypes.byref(column))
        return code, out, row.value, column.value

    def of_numbers(self, name, X, n_out, *coverage):
        """(Code, answers) of rows of numbers."""
        X, out = np.ascontiguousarray(X), np.full((len(X), n_out), np.nan)
        code = getattr(self._library, f"rff_{name}")(
            self._model, *map(ctypes.c_double, coverage), X.itemsize, ctypes.c_void_p(X.ctypes.data),
            ctypes.c_size_t(len(X)), ctypes.c_void_p(out.ctypes.data), ctypes.c_void_p(self._scratch.ctypes.data),
            ctypes.c_size_t(self._size))
        return code, out

    def prepare(self):
        """(Code, reason) of getting ready for contributions."""
        why = ctypes.c_char_p()
        code = self._library.rff_prepare_explanations(self._model, ctypes.byref(why))
        self._make_scratch()
        return code, why.value

    def base_values(self, n_outputs):
        """What contributions are added to."""
        return np.array(self._library.rff_base_values(self._model)[:n_outputs])

    def column(self, index):
        """What is told of a column, and its levels."""
        info, text, length = ColumnInfo(), ctypes.c_char_p(), ctypes.c_size_t()
        assert self._library.rff_describe_column(self._model, ctypes.c_size_t(index), ctypes.byref(info),
                                                 ctypes.c_size_t(ctypes.sizeof(info))) == OK
        levels = []
        for k in range(info.n_levels):
            assert self._library.rff_get_level(self._model, ctypes.c_size_t(index), ctypes.c_size_t(k),
                                               ctypes.byref(text), ctypes.byref(length)) == OK
            levels.append(text.value.decode())
            assert len(text.value) == length.value
        return info, levels

    def find(self, name):
        """The index of a column, or None."""
        data = name.encode()
        found = self._library.rff_find_column(self._model, data, ctypes.c_size_t(len(data)))
        return None if found == ctypes.c_size_t(-1).value else found
