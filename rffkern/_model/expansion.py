"""`Expansion`: the function that a trained model is."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._native.array_types import ArrayLike, Double, Indices, Mask, NDArray
from .._rows.sparse_rows import FEWEST_SPARSE, SparseRows
from .._rows.threads import check_n_threads
from .._rows.validation import check_array
from ..errors import InvalidInputError
from .parts import PARTS, FourierTerms, Immutable, KernelTerms, LinearTerms, Part, TreeTerms, frozen
from .scoring import Scorer
from .tree_layout import UNREACHED


class Expansion(Immutable):
    """H(x) = intercept + Fourier terms + linear terms + trees + kernels, each of which may be missing.

    Each column of x is first clipped to [lower, upper], the range of the training rows and what it is extrapolated by,
    so that no row, however far out, is scored outside of what was learned.  An expansion is immutable: its arrays are
    read-only float64 copies, many threads may score it at once, and `a + b` is the sum of two.

    Parameters
    ----------
    intercept : array of shape (n_outputs,)
    center : array of shape (n_features,), feature units
        What is subtracted from a row before Fourier and linear terms see it.
    parts : FourierTerms, LinearTerms, TreeTerms or KernelTerms
        Any number of arguments, at most one of each class.
    lower, upper : arrays of shape (n_features,) or None, feature units
        None, the default, for no bounds.  Bounds are rounded to the precision of the rows.

    Attributes
    ----------
    parts : tuple
        The parts, in the order of the list above.
    fourier, linear, trees, kernels : part or None
    n_terms, n_features, n_outputs : int
        Numbers of cosines, trees and kernels together, of columns of a row, and of scores of a row.

    Raises
    ------
    InvalidInputError
        If an array is not finite, the shapes do not agree, a part is there twice, a tree reads a column that is not
        there, or a lower bound is above the upper one.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import Expansion, FourierTerms, TreeTerms
    >>> half_wave = Expansion([1.0], [0.0], FourierTerms([[np.pi]], [0.0], [[2.0]]))
    >>> half_wave.score([[0.0], [1.0]])
    array([[ 3.],
           [-1.]])
    >>> step = Expansion([0.0], [0.0], TreeTerms([[0]], [[0.5]], [[2.0], [3.0]]))
    >>> (half_wave + step).score([[0.0], [1.0]])
    array([[5.],
           [2.]])
    """

    intercept: Double
    center: Double
    parts: tuple[Part, ...]
    fourier: FourierTerms | None
    linear: LinearTerms | None
    trees: TreeTerms | None
    kernels: KernelTerms | None
    lower: Double | None
    upper: Double | None
    n_terms: int
    n_features: int
    n_outputs: int
    _scorers: list[Scorer]  # one, once it is needed
    _narrow: list[Any]  # for sparse rows, the same: the columns that are read but for linear terms, and what reads them
    _explainers: list[Any]  # one, of the distributions that its model keeps, once it is needed

    def __init__(self, intercept: ArrayLike, center: ArrayLike, *parts: Part, lower: ArrayLike | None = None,
                 upper: ArrayLike | None = None) -> None:
        own = vars(self)
        own.update(intercept=frozen("intercept", intercept, 1), center=frozen("center", center, 1), lower=None,
                   upper=None, _scorers=[], _narrow=[], _explainers=[])
        own.update({part.kind: None for part in PARTS} | {part.kind: part for part in parts})
        own["parts"] = tuple(own[part.kind] for part in PARTS if own[part.kind] is not None)
        own.update(n_terms=sum(part.n_terms for part in parts), n_features=len(self.center),
                   n_outputs=len(self.intercept))
        if len(parts) != len(self.parts):
            raise InvalidInputError(f"parts must be at most one of each kind, got {[part.kind for part in parts]}")
        if 0 in (self.n_features, self.n_outputs):
            raise InvalidInputError("intercept and center must not be empty")
        for part in self.parts:
            part._check_shapes(self.n_features)
            if part.n_outputs != self.n_outputs:
                raise InvalidInputError(f"{part.kind} must have the {self.n_outputs} outputs of intercept, "
                                        f"got {part.n_outputs}")
        if lower is not None or upper is not None:
            self._keep_bounds(lower, upper)

    def _keep_bounds(self, lower: ArrayLike | None, upper: ArrayLike | None) -> None:
        low = frozen("lower", np.full(self.n_features, -UNREACHED) if lower is None else lower, 1)
        high = frozen("upper", np.full(self.n_features, UNREACHED) if upper is None else upper, 1)
        for name, bound in (("lower", low), ("upper", high)):
            if len(bound) != self.n_features:
                raise InvalidInputError(f"{name} must have shape ({self.n_features},), got {bound.shape}")
        if not (low <= high).all():
            raise InvalidInputError(f"lower must not be above upper, got {int((low > high).sum())} columns where it is")
        vars(self).update(lower=low, upper=high)

    @classmethod
    def _of_arrays(cls, arrays: Mapping[str, ArrayLike]) -> "Expansion":
        """The expansion of the arrays that `arrays` gives."""
        parts = [part(*(arrays[name] for name in part.array_names)) for part in PARTS
                 if part.array_names[0] in arrays]
        return cls(arrays["intercept"], arrays["center"], *parts, lower=arrays.get("lower"), upper=arrays.get("upper"))

    def __reduce__(self) -> tuple[Any, ...]:
        return Expansion._of_arrays, (self.arrays(),)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{part.kind}={part.n_terms}" if part.n_terms else part.kind for part in self.parts)
        return f"Expansion({kinds or 'intercept'}, n_features={self.n_features}, n_outputs={self.n_outputs})"

    def __add__(self, other: "Expansion") -> "Expansion":
        if not isinstance(other, Expansion):
            return NotImplemented
        if (self.n_features, self.n_outputs) != (other.n_features, other.n_outputs):
            raise InvalidInputError("expansions must agree in the numbers of features and outputs to be added, got "
                                    f"{self.n_features} and {self.n_outputs}, {other.n_features} and "
                                    f"{other.n_outputs}")
        for one, two in ((self, other), (other, self)):  # what reads no center takes that of the other
            if not any(part.reads_center for part in two.parts):
                center = one.center
                break
        else:
            center = self.center
            if not np.array_equal(self.center, other.center):
                raise InvalidInputError("expansions with Fourier or linear terms must have the same center to be "
                                        "added")
        bounds = {(each.lower.tobytes(), each.upper.tobytes()) for each in (self, other)
                  if each.lower is not None and each.upper is not None and each.parts}
        if len(bounds) > 1 or (bounds and any(each.lower is None and each.parts for each in (self, other))):
            raise InvalidInputError("expansions must have the same bounds to be added")
        bounded = self if self.lower is not None else other
        merged = [mine._plus(theirs) if mine and theirs else mine or theirs for mine, theirs in (
            (getattr(self, part.kind), getattr(other, part.kind)) for part in PARTS)]
        return Expansion(self.intercept + other.intercept, center, *filter(None, merged), lower=bounded.lower,
                         upper=bounded.upper)

    def arrays(self) -> dict[str, Double]:
        """The arrays that define the expansion, by their names in files."""
        bounds = {} if self.lower is None or self.upper is None else {"lower": self.lower, "upper": self.upper}
        return {"intercept": self.intercept, "center": self.center, **bounds,
                **{name: array for part in self.parts for name, array in part.arrays().items()}}

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
        scored = self._scorer.score_few(X)
        if scored is None:
            X = check_array(X)
            if X.shape[1] != self.n_features:
                raise InvalidInputError(f"X must have {self.n_features} features, got {X.shape[1]}")
        check_n_threads(n_jobs, 0)  # also where so few rows are scored that no thread is started
        return self._scorer.score(X, n_jobs) if scored is None else scored

    def _score_sparse(self, rows: SparseRows, n_threads: int | None) -> Double | None:
        """Scores of sparse rows that are checked, in time in proportion to their filled cells.

        None where it had better be dense rows: few columns, or many of them in other terms than linear ones.  Sums have
        another order than those of dense rows.
        """
        if self.n_features < FEWEST_SPARSE or self.kernels is not None:
            return None
        if not self._narrow:
            self._narrow.append(self._of_columns_read())
        columns, narrow = self._narrow[0]
        if 2 * len(columns) > self.n_features:
            return None
        dense = [narrow._scorer.score(block.of_columns(columns).astype(np.float64, copy=False), n_threads)
                 for block in rows.blocks(max(1, len(columns)))]
        scores: Double = np.concatenate(dense)
        if self.linear is not None:
            cells, empty = rows.data.astype(np.float64), np.zeros(self.n_features)
            if self.lower is not None and self.upper is not None:
                empty = empty.clip(self.lower, self.upper)
                cells = cells.clip(self.lower[rows.indices], self.upper[rows.indices])
            rows = SparseRows(rows.indptr, rows.indices, cells - empty[rows.indices], rows.n_columns)
            scores += np.einsum("j,jk->k", empty - self.center, self.linear.coefficients)
            scores += rows.products(self.linear.coefficients, check_n_threads(n_threads, rows.nnz))
        return scores

    def _of_columns_read(self) -> tuple[Indices, "Expansion"]:
        """The columns that all parts but the linear one read, one at least, and the function of these by them."""
        parts = [part for part in self.parts if part is not self.linear]
        reads = np.zeros(self.n_features, dtype=bool)
        for part in parts:
            reads |= part._columns_read(self.n_features)
        reads[0] |= not reads.any()
        columns, places = np.flatnonzero(reads), np.where(reads, np.cumsum(reads) - 1, -1)
        parts = [part._with_columns(places, len(columns)) for part in parts]
        lower, upper = (None if bound is None else bound[columns] for bound in (self.lower, self.upper))
        return columns, Expansion(self.intercept, self.center[columns], *parts, lower=lower, upper=upper)

    @property
    def _scorer(self) -> Scorer:
        """What scores rows that are checked."""
        if not self._scorers:
            self._scorers.append(Scorer(self.arrays(), [part for part in self.parts if part._add_to]))
        return self._scorers[0]

    def _bound(self) -> Double:
        """What no score exceeds in magnitude, shape (n_outputs,)."""
        return np.abs(self.intercept) + sum(part._bound() for part in self.parts)

    def _reads(self) -> Mask:
        """Whether each term reads each column, shape (n_terms, n_features), in the order of the parts."""
        return np.concatenate([np.empty((0, self.n_features), dtype=bool),
                               *(part._reads(self.n_features) for part in self.parts)])

    def _only(self, *kinds: str) -> "Expansion":
        """The parts of some kinds, without intercept and bounds."""
        return Expansion(np.zeros(self.n_outputs), self.center, *(part for part in self.parts if part.kind in kinds))

    def _take(self, chosen: NDArray[Any]) -> "Expansion":
        """The sum of the terms at some indices, in the order of the parts; no linear terms, intercept and bounds."""
        parts, start = [], 0
        for part in self.parts:
            own = chosen[(chosen >= start) & (chosen < start + part.n_terms)] - start
            start += part.n_terms
            if len(own):
                parts.append(part._take(own))
        return Expansion(np.zeros(self.n_outputs), self.center, *parts)
