"""The parts of a trained function: what each adds to the scores of a row, as read-only arrays.

A part says what its arrays are, which columns its terms read and in which array its scores are linear; files, smaller
models, sparse rows, exports and scores of single rounds ask for no more.  `scoring.py` computes what parts add.
"""

from collections.abc import Callable
from operator import length_hint
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from .._native import scoring
from .._native.array_types import ArrayLike, Double, Indices, Mask, NDArray
from .._rows.validation import LARGEST_FLOAT64
from ..errors import InvalidInputError
from .regions import Regions
from .tree_layout import UNREACHED, TreeLayout

Real = NDArray[Any]  # float32 or float64

MAX_DEPTH = 12  # of trees
LARGEST_LINEAR_PART = 1e290  # of what a column adds to a linear term: no sum of them overflows

_SHAPES = {1.0: "exponential", 2.0: "gaussian"}  # of kernels, by their exponents

# Values of trees whose largest lies between these powers of two are kept in single precision as they are.
_LEAST_EXPONENT, _LARGEST_EXPONENT = -60, 100


def frozen(name: str, values: ArrayLike, n_dimensions: int) -> Double:
    """A read-only copy of a finite array."""
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{name} must be a finite {n_dimensions}-D array: {error}") from error
    if array.ndim != n_dimensions or scoring.find_unbounded(array.reshape(-1), LARGEST_FLOAT64) >= 0:
        raise InvalidInputError(f"{name} must be a finite {n_dimensions}-D array, got shape {array.shape}"
                                + ("" if array.ndim != n_dimensions else " with nan or inf"))
    array.flags.writeable = False
    return array


class Immutable:
    """An object whose attributes are set once, by its constructor, through `vars`."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be deleted")


class Part(Immutable):
    """Base of the parts: finite read-only float64 arrays.

    Attributes
    ----------
    n_terms : int
        Terms that rounds of boosting add, or kernels: 0 of linear terms, which are one.
    n_outputs : int
    """

    kind: ClassVar[str]
    noun: ClassVar[str] = ""  # of its terms where they are counted, if that is not the kind
    # (scores, rows that are clipped, center) -> None: adds what the part adds; None where the scorer in C does so.
    _add_to: ClassVar[Any] = None
    reads_center: ClassVar[bool] = True  # whether it reads x - center; otherwise x
    array_names: ClassVar[tuple[str, ...]]  # in files, in the order of the constructor
    _dimensions: ClassVar[tuple[int, ...]]
    _linear_in: ClassVar[str] = ""  # the array of n_outputs columns that scores are linear in
    _in_half: ClassVar[tuple[str, ...]] = ()  # arrays that `shrink` keeps in half precision where that is enough

    n_terms: int
    n_outputs: int

    def __init__(self, *arrays: ArrayLike) -> None:
        for name, values, n_dimensions in zip(self.array_names, arrays, self._dimensions, strict=True):
            vars(self)[name] = frozen(name, values, n_dimensions)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.arrays().values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_terms={self.n_terms}, n_outputs={self.n_outputs})"

    def arrays(self) -> dict[str, Double]:
        """The arrays that define the part, by their names in files."""
        return {name: getattr(self, name) for name in self.array_names}

    def _check_shapes(self, n_features: int) -> None:
        """InvalidInputError unless the part reads rows of so many columns."""
        raise NotImplementedError

    def _bound(self) -> Double:
        """What the part adds at most, in magnitude, shape (n_outputs,)."""
        raise NotImplementedError

    def _reads(self, n_features: int) -> Mask:
        """Whether each term reads each column, shape (n_terms, n_features)."""
        raise NotImplementedError

    def _columns_read(self, n_features: int) -> Mask:
        """Whether any of it reads each column, shape (n_features,)."""
        return np.logical_or.reduce(self._reads(n_features), axis=0)

    def _take(self, chosen: Indices) -> "Part":
        """The part of some terms alone, if it has several."""
        raise NotImplementedError

    def _plus(self, other: Any) -> "Part":
        """The sum of two parts of one kind."""
        raise NotImplementedError

    def _splits(self) -> tuple[Double, Double]:
        """Columns, and the thresholds along them beyond which scores jump, of one shape; none of smooth terms."""
        return np.empty(0), np.empty(0)

    # What follows is refused by name where a part has no such method.

    def _with_columns(self, places: Indices, n_features: int) -> "Part":
        """The same of rows of n_features columns, whose column places[j] is column j; -1 for one that is not read."""
        raise InvalidInputError(f"terms of kind {self.kind!r} cannot read some columns alone, as of sparse rows")

    def _term_of_each(self) -> Indices:
        """The term that each row of the array `_linear_in` belongs to."""
        return np.arange(self.n_terms)

    def _with_coefficients(self, change: Callable[[Double, Indices], Double]) -> "Part":
        """The same terms with change(array, term of each of its rows) in place of the array `_linear_in`."""
        if not self._linear_in:
            raise InvalidInputError(f"terms of kind {self.kind!r} cannot be left out by shrink")
        arrays = self.arrays()
        arrays[self._linear_in] = change(arrays[self._linear_in], self._term_of_each())
        return type(self)(*arrays.values())

    def _bytes_of_terms(self) -> Double:
        """About how many bytes each term takes in a small file, shape (n_terms,)."""
        return np.full(self.n_terms, 4.0 * sum(array.size for array in self.arrays().values()) / max(1, self.n_terms))

    def _exported(self, center: Double) -> dict[str, NDArray[Any]]:
        """The arrays that exports write, none if it adds nothing."""
        raise InvalidInputError(f"terms of kind {self.kind!r} cannot be exported")

    def _refuse_shapes(self, n_features: int) -> NoReturn:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.arrays().items())
        raise InvalidInputError(f"shapes must agree, got {shapes}, for rows of {n_features} columns")


class FourierTerms(Part):
    """Cosines: sum over m of amplitudes[m] cos(omegas[m] . (x - center) - phases[m]).

    Parameters
    ----------
    omegas : array of shape (n_terms, n_features), radians per unit of the feature
    phases : array of shape (n_terms,), radians
    amplitudes : array of shape (n_terms, n_outputs)

    Raises
    ------
    InvalidInputError
        If an array is not finite or has another number of dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import Expansion, FourierTerms
    >>> Expansion([1.0], [0.0], FourierTerms([[np.pi]], [0.0], [[2.0]])).score([[0.0], [1.0]])
    array([[ 3.],
           [-1.]])
    """

    kind, noun = "fourier", "fourier terms"
    array_names = ("omegas", "phases", "amplitudes")
    _dimensions = (2, 1, 2)
    _linear_in = "amplitudes"
    _in_half = ("omegas", "amplitudes")

    omegas: Double
    phases: Double
    amplitudes: Double

    def __init__(self, omegas: ArrayLike, phases: ArrayLike, amplitudes: ArrayLike) -> None:
        super().__init__(omegas, phases, amplitudes)
        vars(self).update(n_terms=len(self.omegas), n_outputs=self.amplitudes.shape[1])

    def _check_shapes(self, n_features: int) -> None:
        if self.omegas.shape[1] != n_features or not len(self.omegas) == len(self.phases) == len(self.amplitudes):
            self._refuse_shapes(n_features)

    def _bound(self) -> Double:
        return np.abs(self.amplitudes).sum(axis=0)

    def _reads(self, n_features: int) -> Mask:
        return self.omegas != 0

    def _take(self, chosen: Indices) -> "FourierTerms":
        return FourierTerms(self.omegas[chosen], self.phases[chosen], self.amplitudes[chosen])

    def _plus(self, other: "FourierTerms") -> "FourierTerms":
        return FourierTerms(*(np.concatenate(pair) for pair in zip(self.arrays().values(), other.arrays().values(),
                                                                   strict=True)))

    def _with_columns(self, places: Indices, n_features: int) -> "FourierTerms":
        omegas = np.zeros((self.n_terms, n_features))
        omegas[:, places[places >= 0]] = self.omegas[:, places >= 0]
        return FourierTerms(omegas, self.phases, self.amplitudes)

    def _bytes_of_terms(self) -> Double:
        return 4.0 * (self.omegas != 0).sum(axis=1) + 6 + 2 * self.n_outputs

    def _exported(self, center: Double) -> dict[str, NDArray[Any]]:
        return self.arrays() | {"center": center} if self.n_terms else {}


class LinearTerms(Part):
    """A linear function: (x - center)' coefficients, each product held to 1e290 in magnitude.

    Parameters
    ----------
    coefficients : array of shape (n_features, n_outputs), per unit of the feature

    Raises
    ------
    InvalidInputError
        If the array is not finite or not 2-D.

    Examples
    --------
    >>> from rffkern import Expansion, LinearTerms
    >>> Expansion([1.0], [0.5], LinearTerms([[2.0]])).score([[0.0], [1.0]])
    array([[0.],
           [2.]])
    """

    kind = "linear"
    array_names = ("coefficients",)
    _dimensions = (2,)
    n_terms = 0

    coefficients: Double

    def __init__(self, coefficients: ArrayLike) -> None:
        super().__init__(coefficients)
        vars(self).update(n_outputs=self.coefficients.shape[1])

    def _check_shapes(self, n_features: int) -> None:
        if len(self.coefficients) != n_features:
            self._refuse_shapes(n_features)

    def _bound(self) -> Double:
        return LARGEST_LINEAR_PART * (self.coefficients != 0).sum(axis=0)

    def _reads(self, n_features: int) -> Mask:
        return np.zeros((0, n_features), dtype=bool)

    def _columns_read(self, n_features: int) -> Mask:
        return np.logical_or.reduce(self.coefficients != 0, axis=1)

    def _of_columns(self, columns: Indices) -> "LinearTerms":
        """The same over some columns alone."""
        coefficients = np.zeros_like(self.coefficients)
        coefficients[columns] = self.coefficients[columns]
        return LinearTerms(coefficients)

    def _plus(self, other: "LinearTerms") -> "LinearTerms":
        return LinearTerms(self.coefficients + other.coefficients)

    def _exported(self, center: Double) -> dict[str, NDArray[Any]]:
        return self.arrays() | {"center": center} if self.coefficients.any() else {}


class TreeTerms(Part):
    """Symmetric trees: at each depth all rows of a tree are split by x[column] > threshold.

    Where a tree splits by a column k times, x is above 0 to k of the thresholds: that is a digit of its leaf, 0 to
    k.  The digits of the columns, in the order of their first splits, the first one counting least, are the number of
    the leaf.  A threshold of 1.7976931348623157e308, the largest float, splits nothing.  Values are rounded to
    single precision, once, and are in units of the largest of them where they are beyond 1e30 or all below 1e-18.

    Parameters
    ----------
    tree_columns : array of shape (n_trees, depth), whole numbers
    tree_thresholds : array of shape (n_trees, depth), feature units
    tree_values : array of shape (n_leaves, n_outputs)
        Those of the leaves of the first tree, then of the second, and so on.

    Attributes
    ----------
    starts : array of shape (n_trees + 1,)
        The leaves of tree t are those from starts[t] to starts[t + 1], exclusive.

    Raises
    ------
    InvalidInputError
        If an array is not finite, or the shapes do not agree.

    Examples
    --------
    >>> from rffkern import Expansion, TreeTerms
    >>> Expansion([1.0], [0.0], TreeTerms([[0]], [[0.5]], [[2.0], [3.0]])).score([[0.0], [1.0]])
    array([[3.],
           [4.]])
    """

    kind = "trees"
    reads_center = False
    array_names = ("tree_columns", "tree_thresholds", "tree_values")
    _dimensions = (2, 2, 2)
    _linear_in = "tree_values"
    _in_half = ("tree_values",)

    tree_columns: Double
    tree_thresholds: Double
    tree_values: Real  # whose numbers are those of single precision, but for their unit
    starts: Indices
    layout: TreeLayout

    def __init__(self, tree_columns: ArrayLike, tree_thresholds: ArrayLike, tree_values: ArrayLike) -> None:
        super().__init__(tree_columns, tree_thresholds, tree_values)
        columns, thresholds = self.tree_columns, self.tree_thresholds
        if columns.shape[1] > MAX_DEPTH or (len(columns) and not columns.shape[1]):
            raise InvalidInputError(f"tree_columns must have 1 to {MAX_DEPTH} columns, got {columns.shape[1]}")
        if thresholds.shape != columns.shape:
            raise InvalidInputError("tree_thresholds must have the shape of tree_columns, "
                                    f"got {thresholds.shape} and {columns.shape}")
        layout = TreeLayout.of(columns, thresholds)
        if len(self.tree_values) != layout.starts[-1]:
            raise InvalidInputError(f"tree_values must have a row for each of the {layout.starts[-1]} leaves, "
                                    f"got {len(self.tree_values)}")
        values = _rounded(self.tree_values)
        vars(self).update(layout=layout, starts=layout.starts, tree_values=values, n_terms=len(columns),
                          n_outputs=self.tree_values.shape[1])

    def _check_shapes(self, n_features: int) -> None:
        columns = self.tree_columns
        if columns.size and not ((columns == np.floor(columns)) & (columns >= 0) & (columns < n_features)).all():
            raise InvalidInputError(f"tree_columns must hold indices of {n_features} features")

    def _bound(self) -> Double:
        if not self.n_terms:
            return np.zeros(self.n_outputs)
        largest = np.maximum.reduceat(np.abs(self.tree_values), self.starts[:-1], axis=0)
        return largest.sum(axis=0, dtype=np.float64)

    def _reads(self, n_features: int) -> Mask:
        reads = np.zeros((self.n_terms, n_features), dtype=bool)
        trees, depths = np.nonzero(self.tree_thresholds < UNREACHED)
        reads[trees, self.tree_columns[trees, depths].astype(np.intp)] = True
        return reads

    def _columns_read(self, n_features: int) -> Mask:
        reads = np.zeros(n_features, dtype=bool)  # of many columns far fewer numbers than a row for each tree
        reads[self.tree_columns[self.tree_thresholds < UNREACHED].astype(np.intp)] = True
        return reads

    def _take(self, chosen: Indices) -> "TreeTerms":
        return TreeTerms(self.tree_columns[chosen], self.tree_thresholds[chosen],
                         self.tree_values[self.layout.leaves_of(chosen)])

    def _plus(self, other: "TreeTerms") -> "TreeTerms":
        depth = max(self.tree_columns.shape[1], other.tree_columns.shape[1])
        columns = [_deepened(part.tree_columns, depth, 0) for part in (self, other)]
        thresholds = [_deepened(part.tree_thresholds, depth, UNREACHED) for part in (self, other)]
        return TreeTerms(np.concatenate(columns), np.concatenate(thresholds),
                         np.concatenate([self.tree_values, other.tree_values]))

    def _splits(self) -> tuple[Double, Double]:
        return self.tree_columns, self.tree_thresholds

    def _with_columns(self, places: Indices, n_features: int) -> "TreeTerms":
        columns = np.maximum(places, 0)[self.tree_columns.astype(np.intp)]  # -1 only where nothing is split
        return TreeTerms(columns, self.tree_thresholds, self.tree_values)

    def _term_of_each(self) -> Indices:
        return np.repeat(np.arange(self.n_terms), np.diff(self.starts))

    def _bytes_of_terms(self) -> Double:
        return 6.0 * self.tree_columns.shape[1] + 2 + 2 * self.n_outputs * np.diff(self.starts)

    def _exported(self, center: Double) -> dict[str, NDArray[Any]]:
        return {"tree_columns": self.tree_columns.astype(np.int64), "tree_thresholds": self.tree_thresholds,
                "steps": self.layout.steps.astype(np.int64), "starts": self.starts[:-1].astype(np.int64),
                "values": self.tree_values} if self.n_terms else {}


def _deepened(levels: Double, depth: int, filling: float) -> Double:
    return np.pad(levels, ((0, 0), (0, depth - levels.shape[1])), constant_values=filling)


def _unit_of(values: Real) -> float:
    """1, or a power of two near the largest value where single precision would not hold the values."""
    exponent = int(np.frexp(np.abs(values).max(initial=0))[1])
    return 1.0 if _LEAST_EXPONENT <= exponent <= _LARGEST_EXPONENT else 2.0 ** (exponent - 1)


def _rounded(values: Double) -> Real:
    """Values of single precision, times a power of two in double precision where they are very large or small."""
    unit = _unit_of(values)
    rounded: Real = (values / unit).astype(np.float32)
    rounded = rounded if unit == 1 else unit * rounded.astype(np.float64)
    rounded.flags.writeable = False
    return rounded


class KernelTerms(Part):
    """Kernels: sum over m of weights[m] k(r), with r = |(x - centers[m]) * inverse_length_scales|.

    The kernel k(r) is exp(-r^2 / 2), "gaussian", or exp(-r), "exponential".  With regions, the sum is over the centers
    of the region that x falls into.

    Parameters
    ----------
    centers : array of shape (n_terms, n_features), feature units
    weights : array of shape (n_terms, n_outputs)
    inverse_length_scales : array of shape (n_features,), per unit of the feature; 0 for a feature without influence
    exponent : array of shape (1,), default [2.0]
        The exponent p of k(r) = exp(-r^p / p): 2 of the Gaussian kernel, 1 of the exponential one.
    region_columns, region_thresholds : arrays of shape (n_regions - 1,), default none
        A binary tree whose leaves, all at one depth, are the regions, of which there are 1, 2, 4 or another power of 2.
        Node k has the children 2 k + 1 and 2 k + 2, and x goes to the second if its column is above the threshold.
    region_starts : array of shape (n_regions + 1,), default [0, n_terms]
        Region c, from the left, has the centers from region_starts[c] to region_starts[c + 1].

    Attributes
    ----------
    n_regions : int
        Number of regions, 1 where all centers count for each row.
    shape : str
        "gaussian" or "exponential".

    Raises
    ------
    InvalidInputError
        If an array is not finite or the shapes do not agree.

    Examples
    --------
    >>> from rffkern import Expansion, KernelTerms
    >>> Expansion([1.0], [0.0], KernelTerms([[0.0]], [[2.0]], [1.0])).score([[0.0], [100.0]])
    array([[3.],
           [1.]])
    """

    kind = "kernels"
    reads_center = False
    array_names = ("centers", "weights", "inverse_length_scales", "exponent", "region_columns", "region_thresholds",
                   "region_starts")
    _dimensions = (2, 2, 1, 1, 1, 1, 1)
    _linear_in = "weights"

    centers: Double
    weights: Double
    inverse_length_scales: Double
    exponent: Double
    region_columns: Double
    region_thresholds: Double
    region_starts: Double
    shape: str
    n_regions: int
    regions: Regions

    def __init__(self, centers: ArrayLike, weights: ArrayLike, inverse_length_scales: ArrayLike,
                 exponent: ArrayLike = (2.0,), region_columns: ArrayLike = (), region_thresholds: ArrayLike = (),
                 region_starts: ArrayLike | None = None) -> None:
        if region_starts is None:
            region_starts = [0, length_hint(centers)]  # 0 of what is no array, which is refused below
        super().__init__(centers, weights, inverse_length_scales, exponent, region_columns, region_thresholds,
                         region_starts)
        shape = _SHAPES.get(float(self.exponent[0])) if self.exponent.shape == (1,) else None
        if shape is None:
            raise InvalidInputError(f"exponent must be [1.0] or [2.0], got {self.exponent.tolist()}")
        regions = Regions.of(self.region_columns, self.region_thresholds, self.region_starts, self.centers.shape)
        if regions is None:
            raise InvalidInputError("region_columns, region_thresholds and region_starts must be a binary tree of "
                                    f"columns, whose regions have the {len(self.centers)} centers one after the other")
        vars(self).update(shape=shape, n_regions=len(self.region_starts) - 1, regions=regions,
                          n_terms=len(self.centers), n_outputs=self.weights.shape[1])

    def _check_shapes(self, n_features: int) -> None:
        if not (self.centers.shape[1] == n_features == len(self.inverse_length_scales)
                and len(self.centers) == len(self.weights)):
            self._refuse_shapes(n_features)

    def _bound(self) -> Double:
        return np.abs(self.weights).sum(axis=0)

    def _reads(self, n_features: int) -> Mask:
        return np.broadcast_to(self.inverse_length_scales != 0, (self.n_terms, n_features))

    def _columns_read(self, n_features: int) -> Mask:
        reads = super()._columns_read(n_features)
        reads[self.region_columns.astype(np.intp)] = True
        return reads

    def _take(self, chosen: Indices) -> "KernelTerms":
        chosen = np.sort(chosen)  # a region has the centers from one place to another
        return KernelTerms(self.centers[chosen], self.weights[chosen], self.inverse_length_scales, self.exponent,
                           self.region_columns, self.region_thresholds, np.searchsorted(chosen, self.region_starts))

    def _plus(self, other: Self) -> "KernelTerms":
        same = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in
                   ("inverse_length_scales", "exponent"))
        if not same or self.n_regions > 1 or other.n_regions > 1:
            raise InvalidInputError("kernels must have the same length scales and exponents, and no regions, to be "
                                    "added")
        return KernelTerms(np.concatenate([self.centers, other.centers]),
                           np.concatenate([self.weights, other.weights]), self.inverse_length_scales, self.exponent)

    def _splits(self) -> tuple[Double, Double]:
        return self.region_columns, self.region_thresholds

    def _bytes_of_terms(self) -> Double:
        return np.full(self.n_terms, 4.0 * (self.centers.shape[1] + self.n_outputs))

    def _exported(self, center: Double) -> dict[str, NDArray[Any]]:
        if not self.n_terms:
            return {}
        arrays = {name: getattr(self, name) for name in ("centers", "weights", "inverse_length_scales")}
        regions = self.regions
        return arrays if self.n_regions == 1 else arrays | {
            "region_columns": regions.columns.astype(np.int64), "region_thresholds": regions.thresholds,
            "region_starts": regions.starts.astype(np.int64)}


# In the order of files, and of terms.  Kernels are last: no rounds of boosting add them, so that the rounds of a model
# are those of its first terms.
PARTS: tuple[type[Part], ...] = (FourierTerms, LinearTerms, TreeTerms, KernelTerms)
