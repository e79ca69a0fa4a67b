"""Forward selection of basis vectors among some rows, by the rules of Sun and Yao (2010).

Rows are in units in which the kernel is k(x, z) = amplitude 2^-|x - z|^p + bias, p being its shape.  Each chosen row
joins a dictionary, whose Gram matrix Q is factorised as it grows.  The pivot of a candidate is its squared distance, in
the feature space of the kernel, from the span of those before it.  The rule "ald" (approximate linear dependence)
compares it with a threshold, and near-duplicates are recognised by it.  "mp" stands for matching pursuit, "ran" for
resource-allocating network.  Where there are several outputs, "max-res" takes the row whose residuals have the largest
sum of squares, and "mp", "boost" and "ran" add up over outputs what they compare.

The rows chosen in a call are fitted to the target together.  Their kernels are made orthonormal in the norm of the
objective, sum of weights f(row)^2 + lambda |f|^2, one after the other: each then has its coefficient for good.
"""

from libc.math cimport sqrt

import numpy as np

from .core.checks cimport agree, has_shape
from .core.lanes cimport multiply_lanes, scale_lanes, square_lanes
from .core.signals cimport COSINE, look_at_signals
from .solvers cimport extend_row
from .core.tiles cimport LANES, TERMS, TILE, add_columns, decay_by, distances, dot, next_tile, project

cdef enum:
    C_RANDOM, C_MAX_RES, C_MP, C_BOOST, C_ALD, C_RAN

RULES = {"random": C_RANDOM, "max-res": C_MAX_RES, "mp": C_MP, "boost": C_BOOST, "ald": C_ALD, "ran": C_RAN}

# Share of its diagonal entry that a pivot of the least-squares fit must exceed: below, rounding has made it.
cdef double SMALLEST_PIVOT = 1e-13


cdef class Selector:
    """Chooses rows that are to be basis vectors, and keeps the dictionary of those chosen since `reset`.

    `smallest` is the share of k(x, x) that a pivot must exceed; `threshold` is what the pivot times the decrease of the
    objective must exceed under the rule "ran"; `n_looks` is how many candidates "mp" and "boost" choose among.
    """

    cdef readonly Py_ssize_t n_basis, n_skipped
    cdef readonly double[:, ::1] factor   # (capacity, capacity) of Q, as far as n_basis
    cdef readonly Py_ssize_t[::1] taken   # (n_tiles * TILE,) 1 for rows that the last call chose or skipped
    cdef int rule, shape
    cdef Py_ssize_t n_features, n_looks, position, n_taken, work
    cdef double amplitude, bias, reg_lambda, smallest, threshold
    cdef double[:, :, ::1] basis          # (n_tiles, n_features, TILE)
    # Of one call: orthonormal columns, their inner products with the model, and the residual of the target.
    cdef double[:, ::1] columns, with_model, left
    cdef double[::1] steps, weighted, squares
    cdef double[:, ::1] looks             # (TERMS, n_features + 1) candidates whose columns are made together

    def __init__(self, str rule, Py_ssize_t capacity, Py_ssize_t n_features, double amplitude, double bias,
                 double reg_lambda, double smallest, double threshold, Py_ssize_t n_looks, int shape):
        agree(capacity >= 0, "capacity must not be negative")
        agree(n_features >= 1, "n_features must be at least 1")
        self.rule, self.n_looks, self.n_features = RULES[rule], n_looks, n_features
        self.amplitude, self.bias, self.reg_lambda = amplitude, bias, reg_lambda
        self.smallest, self.threshold, self.shape = smallest, threshold, shape
        self.basis = np.zeros(((capacity + TILE - 1) // TILE, n_features, TILE))
        self.columns = np.empty((0, 0))  # until it is known how many rows there are
        self.factor = np.zeros((capacity, capacity))
        self.looks = np.zeros((TERMS, n_features + 1))
        self.n_basis = self.n_skipped = 0

    def reset(self):
        """Forget the dictionary."""
        self.n_basis = 0

    def forget_last(self):
        """Take the row chosen last out of the dictionary."""
        self.n_basis = max(<Py_ssize_t>0, self.n_basis - 1)

    def remember(
        self,
        const double[:, :, ::1] tiles,      # IN   (n_tiles, n_features, TILE) rows, or |x|^2 behind
        Py_ssize_t row,
    ):
        """Put a row into the dictionary that `choose` once did, after the same rows."""
        agree(tiles.shape[1] >= self.n_features and tiles.shape[2] == TILE and 0 <= row < tiles.shape[0] * TILE,
              "row must be one of tiles of shape (n_tiles, n_features, 128)")
        agree(0 <= self.n_basis < self.factor.shape[0], "n_basis must be below the capacity")
        self._pivot(tiles, row)
        self.n_basis += 1

    def choose(
        self,
        const double[:, :, ::1] tiles,      # IN   (n_tiles, n_features, TILE) candidate rows, or |x|^2 behind
        Py_ssize_t n_rows,                  # of which are rows and no padding; looked at in their order
        const double[::1] weight,           # IN   (n_tiles * TILE,) 0 for padding
        const double[:, ::1] target,        # IN   (n_outputs, n_tiles * TILE)
        const double[:, ::1] model,         # IN   (n_outputs, n_tiles * TILE) values: inner products with k(row, .)
        Py_ssize_t[::1] chosen,             # OUT  (n_wanted,) indices of rows
    ):
        """Choose up to n_wanted rows that fit the target together; return how many were found."""
        cdef Py_ssize_t n_wanted = chosen.shape[0], size = target.shape[1], found = 0
        agree((tiles.shape[1] == self.n_features or tiles.shape[1] == self.n_features + 1) and tiles.shape[2] == TILE,
              "tiles must have shape (n_tiles, n_features, 128), or one feature more for squares")
        agree(size == tiles.shape[0] * TILE, "target must have shape (n_outputs, n_tiles * 128)")
        agree(weight.shape[0] == size, "weight must have shape (n_tiles * 128,)")
        agree(has_shape(model, target.shape[0], size), "model must have shape (n_outputs, n_tiles * 128)")
        agree(0 <= n_rows <= size, "n_rows must not exceed the rows in the tiles")
        agree(0 <= self.n_basis <= self.factor.shape[0], "n_basis must not exceed the capacity")
        if not has_shape(self.columns, n_wanted + TERMS, size):
            self.columns = np.empty((n_wanted + TERMS, size))
        self.with_model, self.steps = np.empty((n_wanted, target.shape[0])), np.empty(n_wanted)
        self.left, self.weighted, self.squares = np.array(target), np.empty(size), np.empty(size)
        self.taken = np.zeros(size, np.intp)
        self.position = self.n_taken = self.work = 0
        with nogil:
            while found < n_wanted and self.n_basis < self.factor.shape[0]:
                if not self._choose_one(tiles, weight, target, model, n_rows, chosen, found):
                    break
                found += 1
        return found

    cdef int _choose_one(self, const double[:, :, ::1] tiles, const double[::1] weight,
                         const double[:, ::1] target, const double[:, ::1] model, Py_ssize_t n_rows,
                         Py_ssize_t[::1] chosen, Py_ssize_t found) except -1 nogil:
        cdef Py_ssize_t row
        cdef double pivot, fall = 0
        while True:
            row = self._best(tiles, weight, target, model, n_rows, &fall)
            if row < 0:
                return False
            self.taken[row] = 1
            self.n_taken += 1
            pivot = self._pivot(tiles, row)
            look_at_signals(&self.work, self.n_basis * (self.n_basis + tiles.shape[1] + COSINE) + n_rows)
            if pivot <= 0:
                self.n_skipped += self.rule != C_ALD
            elif self.rule != C_RAN or pivot * fall > self.threshold:
                chosen[found] = row
                if found + 1 == chosen.shape[0] or self._refit(tiles, weight, target, model, chosen, found):
                    self.n_basis += 1
                    return True
                self.n_skipped += 1

    cdef double _pivot(self, const double[:, :, ::1] tiles, Py_ssize_t row) noexcept nogil:
        """Append a row to the dictionary beyond its end; return its pivot, 0 for one that is too small."""
        cdef double u[TILE]
        cdef Py_ssize_t i, j, t, some, size = self.n_basis
        cdef double apart, coordinate
        cdef const double *of_basis
        for j in range(self.n_features):
            self.basis[size // TILE, j, size % TILE] = tiles[row // TILE, j, row % TILE]
        for t in range((size + TILE - 1) // TILE):
            some = min(<Py_ssize_t>TILE, size - t * TILE)
            for i in range(TILE):
                u[i] = 0
            for j in range(self.n_features):
                coordinate, of_basis = tiles[row // TILE, j, row % TILE], &self.basis[t, j, 0]
                for i in range(some):
                    apart = of_basis[i] - coordinate
                    u[i] += apart * apart
            decay_by(self.shape, u, (some + LANES - 1) // LANES * LANES)
            for i in range(some):
                self.factor[size, t * TILE + i] = self.amplitude * u[i] + self.bias
        self.factor[size, size] = self.amplitude + self.bias
        return extend_row(self.factor, size, self.smallest)

    cdef int _make_columns(self, const double[:, :, ::1] tiles, const Py_ssize_t *rows, Py_ssize_t n_rows,
                           Py_ssize_t first) except -1 nogil:
        """Kernel columns of up to TERMS rows."""
        cdef double u[TERMS * TILE]
        cdef double *looks = &self.looks[0, 0]
        cdef Py_ssize_t i, j, k, t
        if n_rows == 1 and tiles.shape[1] > self.n_features:
            return self._make_column(tiles, rows[0], first)
        for k in range(n_rows):
            for j in range(self.n_features):
                looks[k * self.n_features + j] = tiles[rows[k] // TILE, j, rows[k] % TILE]
        for t in range(tiles.shape[0]):
            distances(&tiles[t, 0, 0], self.n_features, TILE, looks, u)
            look_at_signals(&self.work, TERMS * TILE * (tiles.shape[1] + COSINE))
            for k in range(n_rows):
                decay_by(self.shape, u + k * TILE, TILE)
                for i in range(TILE):
                    self.columns[first + k, t * TILE + i] = self.amplitude * u[k * TILE + i] + self.bias
        return 0

    cdef int _make_column(self, const double[:, :, ::1] tiles, Py_ssize_t row, Py_ssize_t index) except -1 nogil:
        """The kernel column of a row, where rows carry the squares of their lengths."""
        cdef double *column = &self.columns[index, 0]
        cdef double *center = &self.looks[0, 0]
        cdef Py_ssize_t j, t, size = tiles.shape[0] * TILE
        for j in range(self.n_features):
            center[j] = -2 * tiles[row // TILE, j, row % TILE]
        center[self.n_features] = 1
        for t in range(tiles.shape[0]):
            project(&tiles[t, 0, 0], next_tile(tiles, t), tiles.shape[1], center,
                    -tiles[row // TILE, self.n_features, row % TILE], column + t * TILE)
        look_at_signals(&self.work, size * (tiles.shape[1] + COSINE))
        decay_by(self.shape, column, size)
        scale_lanes(column, self.amplitude, self.bias, size)
        return 0

    cdef int _refit(self, const double[:, :, ::1] tiles, const double[::1] weight, const double[:, ::1] target,
                    const double[:, ::1] model, const Py_ssize_t[::1] chosen, Py_ssize_t found) except -1 nogil:
        """Fit all rows chosen so far to the target; False where rounding leaves the last no part in it."""
        cdef Py_ssize_t k, o, row = chosen[found], size = target.shape[1]
        cdef double whole, square, length, step
        cdef double *column
        if self.rule == C_RANDOM or self.rule == C_ALD:
            return True   # which do not look at what is left
        self._make_columns(tiles, &row, 1, found)
        column = &self.columns[found, 0]
        look_at_signals(&self.work, (2 * found + 2 * target.shape[0] + 2) * size)
        self._weigh(weight, found)
        whole = square = dot(&self.weighted[0], column, size) + self.reg_lambda * column[row]
        for k in range(found):
            self.steps[k] = -dot(&self.weighted[0], &self.columns[k, 0], size) - self.reg_lambda * self.columns[k, row]
            square -= self.steps[k] * self.steps[k]
        if not square > SMALLEST_PIVOT * whole:
            return False
        add_columns(&self.columns[0, 0], size, found, &self.steps[0], size, column)
        length = sqrt(square)
        scale_lanes(column, 1 / length, 0, size)
        self._weigh(weight, found)
        for o in range(target.shape[0]):
            self.with_model[found, o] = model[o, row]
            for k in range(found):
                self.with_model[found, o] += self.steps[k] * self.with_model[k, o]
            self.with_model[found, o] /= length
            step = self.reg_lambda * self.with_model[found, o] - dot(&self.weighted[0], &target[o, 0], size)
            add_columns(column, size, 1, &step, size, &self.left[o, 0])
        return True

    cdef void _weigh(self, const double[::1] weight, Py_ssize_t column) noexcept nogil:
        multiply_lanes(&weight[0], &self.columns[column, 0], &self.weighted[0], weight.shape[0])

    cdef Py_ssize_t _next(self, Py_ssize_t n_rows) noexcept nogil:
        """The next row in turn that is not taken, from the beginning again after the last; -1 where all are taken."""
        cdef Py_ssize_t _, row
        for _ in range(n_rows):
            row = self.position % n_rows
            self.position += 1
            if not self.taken[row]:
                return row
        return -1

    cdef Py_ssize_t _largest(self, Py_ssize_t n_rows) noexcept nogil:
        """The row of largest residual that is not taken; -1 where all are taken."""
        cdef Py_ssize_t i, best = -1
        cdef double highest = -1
        square_lanes(&self.left[0, 0], &self.squares[0], self.left.shape[0], self.left.shape[1])
        for i in range(n_rows):
            if self.squares[i] > highest and not self.taken[i]:
                highest, best = self.squares[i], i
        return best

    cdef Py_ssize_t _best(self, const double[:, :, ::1] tiles, const double[::1] weight, const double[:, ::1] target,
                          const double[:, ::1] model, Py_ssize_t n_rows, double *fall) except -2 nogil:
        """The candidate that the rule puts first, and by how much the objective would fall with it alone, (28)."""
        cdef Py_ssize_t looks[TERMS]
        cdef Py_ssize_t k, n_looks, best = -1, limit = n_rows - self.n_taken
        cdef double value, highest = -1
        if self.rule == C_RANDOM or self.rule == C_ALD:
            return self._next(n_rows)
        if self.rule == C_MAX_RES:
            return self._largest(n_rows)
        limit = min(limit, <Py_ssize_t>1 if self.rule == C_RAN else self.n_looks)
        while limit > 0:
            n_looks = min(<Py_ssize_t>TERMS, limit)
            for k in range(n_looks):
                looks[k] = self._next(n_rows)
            self._make_columns(tiles, looks, n_looks, self.columns.shape[0] - TERMS)
            for k in range(n_looks):
                value = self._value(weight, target, model, looks[k], self.columns.shape[0] - TERMS + k)
                if value > highest:
                    highest, best = value, looks[k]
            limit -= n_looks
        fall[0] = highest
        return best

    cdef double _value(self, const double[::1] weight, const double[:, ::1] target, const double[:, ::1] model,
                       Py_ssize_t row, Py_ssize_t column) noexcept nogil:
        """Equation (27) for the rule "boost", else (28)."""
        cdef Py_ssize_t o, size = target.shape[1]
        cdef double slope, slopes = 0
        self._weigh(weight, column)
        for o in range(target.shape[0]):
            slope = dot(&self.weighted[0], &self.left[o, 0], size)
            slope -= self.reg_lambda * (model[o, row] + target[o, row] - self.left[o, row])
            slopes += slope * slope
        if self.rule == C_BOOST:
            return 0.5 * slopes / (self.amplitude + self.bias)
        return 0.5 * slopes / (self.reg_lambda * (self.amplitude + self.bias)
                               + dot(&self.weighted[0], &self.columns[column, 0], size))
