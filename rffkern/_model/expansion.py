"""Frozen states of trained models, and scoring."""

from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn

import numpy as np

from .._native import scoring
from .._native.array_types import ArrayLike, DTypeLike, NDArray
from .._rows.pieces import row_pieces
from .._rows.threads import check_n_threads
from .._rows.validation import LARGEST_FLOAT32, LARGEST_FLOAT64, LARGEST_VALUE, check_array
from ..errors import InvalidInputError
from .angles import AngleBound, RowParts
from .cosines import PackedCosines, pack_cosines

Double = NDArray[np.float64]
Real = NDArray[Any]  # float32 or float64

# An expansion with larger numbers is scored in double precision, whatever the precision of the rows.
LARGEST_SINGLE = 1e30


class Expansion:
    """Base of all expansions: read-only arrays that define a function of a row.

    The forms in which kernels read the arrays are made when they are first needed, and kept in dicts.  No lock guards
    these, and none is needed: an entry depends on the arrays alone, so that two threads that make it at the same time
    make equal ones, and dicts store and find an entry atomically, with the global interpreter lock and without it.
    """

    kind: ClassVar[str]  # the name of the form in files
    array_names: ClassVar[tuple[str, ...]]  # that of shape (n_terms, n_features) first
    _dimensions: ClassVar[tuple[int, ...]]
    _coefficients: ClassVar[str] = "amplitudes"

    intercept: Double
    n_terms: int
    n_features: int  # columns of a row
    n_outputs: int  # values at a row
    _packed: dict[np.dtype[Any], Any]  # by dtype: the arrays as kernels read them
    _fits_single: dict[str, bool]  # one entry, once it is known

    def __init__(self, *arrays: ArrayLike) -> None:
        for name, given, ndim in zip(self.array_names, arrays, self._dimensions, strict=True):
            vars(self)[name] = _frozen(name, given, ndim)
        n_terms, n_features = vars(self)[self.array_names[0]].shape
        vars(self).update(n_terms=n_terms, n_features=n_features, n_outputs=self.intercept.shape[0], _packed={},
                          _fits_single={})
        if 0 in (self.n_features, self.n_outputs) or any(
                array.shape != shape for array, shape in zip(self.arrays().values(), self._shapes(), strict=True)):
            shapes = ", ".join(f"{name} {array.shape}" for name, array in self.arrays().items())
            raise InvalidInputError(f"shapes must agree, got {shapes}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable: {name} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.arrays().values())

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(n_terms={self.n_terms}, n_features={self.n_features}, "
                f"n_outputs={self.n_outputs})")

    def score(self, X: Any, *, n_jobs: int | None = None) -> Double:
        """Return H at the rows of X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            float32 rows are scored in single precision where it suffices, others in double.
        n_jobs : int in [1, 1024], -1 or None, default None
            Number of threads; None for the CPUs this process may use.  The result is the same to the last bit for any
            number.

        Returns
        -------
        array of shape (n_samples, n_outputs), float64

        Raises
        ------
        InvalidInputError
            If X is not a finite numeric array of n_features columns, or n_jobs is out of range.
        """
        X = check_array(X)
        if X.shape[1] != self.n_features:
            raise InvalidInputError(f"X must have {self.n_features} features, got {X.shape[1]}")
        check_n_threads(n_jobs, 0)  # also where so few rows are scored that no thread is started
        return self.score_checked(X, n_jobs)

    def score_checked(self, X: Real, n_threads: int | None = None) -> Double:
        """`score` for rows that `check_array` has passed and whose number of columns is right."""
        raise NotImplementedError

    def score_plain(self, X: Any, n_threads: int | None = None) -> Double | None:
        """`score` for an array that a look tells to be such as `check_array` passes; None for what needs checks."""
        return None

    def score_tiles(self, tiles: Real, n_samples: int, n_threads: int | None = None, largest: float = np.inf) -> Double:
        """`score_checked` for tiles (n_tiles, n_features, `scoring.tile_width`), 0 beyond rows, all up to `largest`."""
        raise NotImplementedError

    def arrays(self) -> dict[str, Double]:
        """The arrays that define the expansion, by name."""
        return {name: getattr(self, name) for name in self.array_names}

    def bound(self) -> Double:
        """What no score exceeds in magnitude, shape (n_outputs,): no cosine or kernel is above 1."""
        return np.abs(self.intercept) + np.abs(getattr(self, self._coefficients)).sum(axis=0)

    def fits_single(self) -> bool:
        """Whether single precision suffices for float32 rows."""
        if "known" not in self._fits_single:
            self._fits_single["known"] = self._can_be_single()
        return self._fits_single["known"]

    def _can_be_single(self) -> bool:
        raise NotImplementedError

    def _shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes that the arrays must have."""
        raise NotImplementedError


def _frozen(name: str, given: ArrayLike, ndim: int) -> Double:
    """A read-only copy of a finite array."""
    try:
        array = np.array(given, dtype=np.float64, order="C")
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{name} must be a finite {ndim}-D array: {error}") from error
    if array.ndim != ndim or scoring.find_unbounded(array.reshape(-1), LARGEST_FLOAT64) >= 0:
        raise InvalidInputError(f"{name} must be a finite {ndim}-D array, got shape {array.shape}"
                                + ("" if array.ndim != ndim else " with nan or inf"))
    array.flags.writeable = False
    return array


class FourierExpansion(Expansion):
    """H(x) = intercept + sum over m of amplitudes[m] cos(omegas[m] . (x - center) - phases[m]).

    The arrays are kept as read-only float64 copies.  An expansion is immutable, and many threads may score it at once.

    Parameters
    ----------
    omegas : array of shape (n_terms, n_features), radians per unit of the feature
    phases : array of shape (n_terms,), radians
    amplitudes : array of shape (n_terms, n_outputs)
    intercept : array of shape (n_outputs,)
    center : array of shape (n_features,), feature units

    Attributes
    ----------
    n_terms, n_features, n_outputs : int
        Numbers of terms, of columns of a row, and of scores of a row.

    Raises
    ------
    InvalidInputError
        If an array is not finite or the shapes do not agree.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import FourierExpansion
    >>> half_wave = FourierExpansion([[np.pi]], [0.0], [[2.0]], [1.0], [0.0])
    >>> half_wave.score([[0.0], [1.0]])
    array([[ 3.],
           [-1.]])
    """

    kind = "fourier_expansion"
    array_names = ("omegas", "phases", "amplitudes", "intercept", "center")
    _dimensions = (2, 1, 2, 1, 1)

    omegas: Double
    phases: Double
    amplitudes: Double
    center: Double
    _packed_few: dict[np.dtype[Any], scoring.FewRows]  # by dtype
    _angle_bound: dict[str, AngleBound]  # one entry, once it is known

    def __init__(self, omegas: ArrayLike, phases: ArrayLike, amplitudes: ArrayLike, intercept: ArrayLike,
                 center: ArrayLike) -> None:
        super().__init__(omegas, phases, amplitudes, intercept, center)
        vars(self).update(_packed_few={}, _angle_bound={})

    def _shapes(self) -> tuple[tuple[int, ...], ...]:
        n, k = self.n_terms, self.n_outputs
        return self.omegas.shape, (n,), (n, k), (k,), (self.n_features,)

    def score_checked(self, X: Real, n_threads: int | None = None) -> Double:
        """`score` for rows that `check_array` has passed and whose number of columns is right."""
        if X.dtype == np.float64:
            return self._score_as_given(X, n_threads)
        parts = self.in_precisions(X)
        if len(parts) == 1:
            return self._score_as_given(parts[0][1], n_threads)
        out = np.empty((X.shape[0], self.n_outputs))
        for rows, part in parts:
            out[rows] = self._score_as_given(part, n_threads)
        return out

    def score_plain(self, X: Any, n_threads: int | None = None) -> Double | None:
        """`score` for an array of few rows, once such have been scored."""
        packed = self._packed_few.get(X.dtype) if type(X) is np.ndarray else None
        return None if packed is None else packed.take(X)

    def score_tiles(self, tiles: Real, n_samples: int, n_threads: int | None = None, largest: float = np.inf) -> Double:
        """`score_checked` for rows in tiles."""
        if tiles.dtype == np.float32 and not (self.fits_single() and self._angles().are_small(tiles, largest)):
            rows = tiles.transpose(0, 2, 1).copy()  # in C order
            return self.score_checked(rows.reshape(-1, self.n_features)[:n_samples], n_threads)
        return self._score_laid_out(tiles, n_samples, n_threads)

    def in_precisions(self, X: Real) -> RowParts:
        """Rows and their places: float32 rows where angles are large in float64, all others as they are."""
        if X.dtype != np.float32 or not self.fits_single():
            return [(slice(None), X.astype(np.float64, copy=False))]
        return self._angles().divide(X)

    def _score_as_given(self, X: Real, n_threads: int | None) -> Double:
        """Scores of rows in the precision of the rows."""
        if len(X) < scoring.FEW:
            return (self._packed_few.get(X.dtype) or self._pack_few(X.dtype)).score(X)
        return self._score_laid_out(X.reshape(*X.shape, 1), len(X), n_threads)

    def _score_laid_out(self, X: Real, n_samples: int, n_threads: int | None) -> Double:
        """Scores of rows, one by one (n_samples, n_features, 1) or in tiles, in their precision."""
        packed: PackedCosines = self._packed.get(X.dtype) or self._pack(X.dtype)
        out = np.empty((n_samples, self.n_outputs))
        n_threads = check_n_threads(n_threads, n_samples * packed.omegas.size)
        scratch = np.empty((n_threads, self.n_features * scoring.TILE_ROWS), X.dtype)
        scoring.score_rows(X, self.center, *packed, self.intercept, out, scratch, n_threads)
        return out

    def staged_score(self, X: Real, terms_per_stage: int, *, n_jobs: int | None = None) -> Iterator[Double]:
        """Yield H after each further `terms_per_stage` terms, for rows that `check_array` has passed.

        A few stages are scored together, as outputs of one expansion that differ in how many terms they have.
        """
        total = np.tile(self.intercept, (X.shape[0], 1))
        per_group = max(1, scoring.TERM_MULTIPLES[1] // terms_per_stage) * terms_per_stage
        for start in range(0, self.n_terms, per_group):
            terms = slice(start, start + per_group)
            stage_of_term = np.arange(len(self.phases[terms])) // terms_per_stage
            reached = stage_of_term[:, None] <= np.arange(stage_of_term[-1] + 1)
            amplitudes = (self.amplitudes[terms][:, None, :] * reached[:, :, None]).reshape(len(stage_of_term), -1)
            zeros = np.zeros(amplitudes.shape[1])
            group = FourierExpansion(self.omegas[terms], self.phases[terms], amplitudes, zeros, self.center)
            scores = group.score_checked(X, n_jobs).reshape(X.shape[0], -1, self.n_outputs)
            for stage in range(scores.shape[1]):
                yield total + scores[:, stage]
            total = total + scores[:, -1]

    def _can_be_single(self) -> bool:
        """Whether single precision can hold all numbers, and tells the phases."""
        return (all(scoring.find_unbounded(array.reshape(-1), LARGEST_SINGLE) < 0 for array in self.arrays().values())
                and self._angles().phases_fit())

    def _angles(self) -> AngleBound:
        """Make and keep the bound that tells which rows single precision suffices for."""
        if "known" not in self._angle_bound:
            self._angle_bound["known"] = AngleBound.of(self.omegas, self.phases, self.amplitudes, self.center)
        return self._angle_bound["known"]

    def _pack(self, dtype: DTypeLike) -> PackedCosines:
        """Make and keep the terms as kernels read them."""
        n_omegas, n_amplitudes = (-(-self.n_terms // multiple) * multiple for multiple in scoring.TERM_MULTIPLES)
        omegas, shifts = np.zeros((n_omegas, self.n_features), dtype), np.zeros(n_omegas, dtype)
        amplitudes = np.zeros((self.n_outputs, n_amplitudes), dtype)
        for rows in row_pieces(self.omegas.shape):
            omegas[: self.n_terms][rows] = self.omegas[rows] / np.pi
        shifts[: self.n_terms], amplitudes[:, : self.n_terms] = self.phases / np.pi, self.amplitudes.T
        packed = self._packed[np.dtype(dtype)] = pack_cosines(omegas, shifts, amplitudes)
        return packed

    def _pack_few(self, dtype: np.dtype[Any]) -> scoring.FewRows:
        """The same for few rows: shifts and omegas in tiles of terms."""
        omegas, _, _, shifts, amplitudes = self._packed.get(dtype) or self._pack(dtype)
        terms = np.zeros((1 + self.n_features, -(-len(shifts) // scoring.TILE_ROWS), scoring.TILE_ROWS), dtype)
        terms.reshape(1 + self.n_features, -1)[:, : len(shifts)] = np.vstack([shifts, omegas.T])
        limit = LARGEST_VALUE if dtype == np.float64 else min(LARGEST_FLOAT32, self._angles().largest_value)
        few = scoring.FewRows(self.center, terms.transpose(1, 0, 2).copy(), amplitudes, self.intercept, limit)
        return self._packed_few.setdefault(dtype, few)
