"""Forward selection of basis vectors among some rows, by the rules of Sun and Yao (2010).

Rows are in units in which the kernel is k(x, z) = amplitude 2^-|x - z|^2 + bias.  Each chosen row joins a dictionary,
whose Gram matrix Q is factorised as it grows.  The pivot of a candidate is its squared distance, in the feature space
of the kernel, from the span of those before it.  The rule "ald" (approximate linear dependence) compares it with a
threshold, and near-duplicates are recognised by it.  "mp" stands for matching pursuit, "ran" for resource-allocating
network.
"""

from libc.math cimport exp2, fabs

import numpy as np

from .checks cimport agree
from .signals cimport COSINE, look_at_signals
from .linalg cimport extend_row, solve
from .tiles cimport TERMS, TILE, add_columns, decay, distances, dot

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
    cdef int rule
    cdef Py_ssize_t n_looks, position, n_taken, work
    cdef double amplitude, bias, reg_lambda, smallest, threshold
    cdef double[:, ::1] basis             # (capacity, n_features)
    # Of one call: columns of the kernel, their normal equations, and the residual of the target.
    cdef double[:, ::1] columns, gram
    cdef double[::1] right, coef, left, weighted
    cdef Py_ssize_t[::1] taken
    cdef double[:, ::1] looks             # (TERMS, n_features) candidates whose columns are made together

    def __init__(self, str rule, Py_ssize_t capacity, Py_ssize_t n_features, double amplitude, double bias,
                 double reg_lambda, double smallest, double threshold, Py_ssize_t n_looks):
        agree(capacity >= 0, "capacity must not be negative")
        agree(n_features >= 1, "n_features must be at least 1")
        self.rule, self.n_looks = RULES[rule], n_looks
        self.amplitude, self.bias, self.reg_lambda = amplitude, bias, reg_lambda
        self.smallest, self.threshold = smallest, threshold
        self.basis = np.zeros((capacity, n_features))
        self.factor = np.zeros((capacity, capacity))
        self.looks = np.zeros((TERMS, n_features))
        self.n_basis = self.n_skipped = 0

    def reset(self):
        """Forget the dictionary."""
        self.n_basis = 0

    def forget_last(self):
        """Take the row chosen last out of the dictionary."""
        self.n_basis = max(<Py_ssize_t>0, self.n_basis - 1)

    def choose(
        self,
        const double[:, :, ::1] tiles,      # IN   (n_tiles, n_features, TILE) candidate rows
        Py_ssize_t n_rows,                  # of which are rows and no padding; looked at in their order
        const double[::1] weight,           # IN   (n_tiles * TILE,) 0 for padding
        const double[::1] target,           # IN   (n_tiles * TILE,)
        const double[::1] model,            # IN   (n_tiles * TILE,) its values, which are inner products with k(row, .)
        Py_ssize_t[::1] chosen,             # OUT  (n_wanted,) indices of rows
    ):
        """Choose up to n_wanted rows that fit the target together; return how many were found."""
        cdef Py_ssize_t n_wanted = chosen.shape[0], size = target.shape[0], found = 0
        agree(tiles.shape[1] == self.basis.shape[1] and tiles.shape[2] == TILE,
              "tiles must have shape (n_tiles, n_features, 128)")
        agree(size == tiles.shape[0] * TILE, "target must have shape (n_tiles * 128,)")
        agree(weight.shape[0] == size, "weight must have shape (n_tiles * 128,)")
        agree(model.shape[0] == size, "model must have shape (n_tiles * 128,)")
        agree(0 <= n_rows <= size, "n_rows must not exceed the rows in the tiles")
        agree(0 <= self.n_basis <= self.factor.shape[0], "n_basis must not exceed the capacity")
        self.columns = np.empty((n_wanted + TERMS, size))
        self.gram = np.zeros((n_wanted, n_wanted))
        self.right, self.coef = np.empty((2, n_wanted))
        self.left, self.weighted = np.array(target), np.empty(size)
        self.taken = np.zeros(size, np.intp)
        self.position = self.n_taken = self.work = 0
        with nogil:
            while found < n_wanted and self.n_basis < self.factor.shape[0]:
                if not self._choose_one(tiles, weight, target, model, n_rows, chosen, found):
                    break
                found += 1
        return found

    cdef int _choose_one(self, const double[:, :, ::1] tiles, const double[::1] weight, const double[::1] target,
                         const double[::1] model, Py_ssize_t n_rows, Py_ssize_t[::1] chosen,
                         Py_ssize_t found) except -1 nogil:
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
        cdef Py_ssize_t j, k, size = self.n_basis
        cdef double apart, distance
        for j in range(tiles.shape[1]):
            self.basis[size, j] = tiles[row // TILE, j, row % TILE]
        for k in range(size):
            distance = 0
            for j in range(tiles.shape[1]):
                apart = self.basis[k, j] - self.basis[size, j]
                distance += apart * apart
            self.factor[size, k] = self.amplitude * exp2(-distance) + self.bias
        self.factor[size, size] = self.amplitude + self.bias
        return extend_row(self.factor, size, self.smallest)

    cdef int _make_columns(self, const double[:, :, ::1] tiles, const Py_ssize_t *rows, Py_ssize_t n_rows,
                           Py_ssize_t first) except -1 nogil:
        """Kernel columns of up to TERMS rows."""
        cdef double u[TERMS * TILE]
        cdef Py_ssize_t i, j, k, t
        for k in range(n_rows):
            for j in range(tiles.shape[1]):
                self.looks[k, j] = tiles[rows[k] // TILE, j, rows[k] % TILE]
        for t in range(tiles.shape[0]):
            distances(&tiles[t, 0, 0], tiles.shape[1], TILE, &self.looks[0, 0], u)
            look_at_signals(&self.work, TERMS * TILE * (tiles.shape[1] + COSINE))
            for k in range(n_rows):
                decay(u + k * TILE, TILE)
                for i in range(TILE):
                    self.columns[first + k, t * TILE + i] = self.amplitude * u[k * TILE + i] + self.bias
        return 0

    cdef int _refit(self, const double[:, :, ::1] tiles, const double[::1] weight, const double[::1] target,
                    const double[::1] model, const Py_ssize_t[::1] chosen, Py_ssize_t found) except -1 nogil:
        """Fit all rows chosen so far to the target; False where rounding leaves the last no part in it."""
        cdef Py_ssize_t i, k, row = chosen[found], size = target.shape[0]
        if self.rule == C_RANDOM or self.rule == C_ALD:
            return True   # which do not look at what is left
        self._make_columns(tiles, &row, 1, found)
        for i in range(size):
            self.weighted[i] = weight[i] * self.columns[found, i]
        look_at_signals(&self.work, 3 * found * (size + found))
        for k in range(found + 1):
            self.gram[found, k] = (dot(&self.columns[k, 0], &self.weighted[0], size)
                                   + self.reg_lambda * self.columns[found, chosen[k]])
        if extend_row(self.gram, found, SMALLEST_PIVOT) <= 0:
            return False
        self.right[found] = dot(&self.weighted[0], &target[0], size) - self.reg_lambda * model[row]
        self.coef[:] = self.right
        solve(self.gram, &self.coef[0], found + 1)
        self.left[:] = target
        for k in range(found + 1):
            self.coef[k] = -self.coef[k]
        add_columns(&self.columns[0, 0], size, found + 1, &self.coef[0], size, &self.left[0])
        return True

    cdef Py_ssize_t _next(self, Py_ssize_t n_rows) noexcept nogil:
        """The next row in turn that is not taken, from the beginning again after the last; -1 where all are taken."""
        cdef Py_ssize_t _, row
        for _ in range(n_rows):
            row = self.position % n_rows
            self.position += 1
            if not self.taken[row]:
                return row
        return -1

    cdef Py_ssize_t _best(self, const double[:, :, ::1] tiles, const double[::1] weight, const double[::1] target,
                          const double[::1] model, Py_ssize_t n_rows, double *fall) except -2 nogil:
        """The candidate that the rule puts first, and by how much the objective would fall with it alone, (28)."""
        cdef Py_ssize_t looks[TERMS]
        cdef Py_ssize_t i, k, n_looks, best = -1, limit = n_rows - self.n_taken
        cdef double value, highest = -1
        if self.rule == C_RANDOM or self.rule == C_ALD:
            return self._next(n_rows)
        if self.rule == C_MAX_RES:
            for i in range(n_rows):
                if not self.taken[i] and fabs(self.left[i]) > highest:
                    highest, best = fabs(self.left[i]), i
            return best
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

    cdef double _value(self, const double[::1] weight, const double[::1] target, const double[::1] model,
                       Py_ssize_t row, Py_ssize_t column) noexcept nogil:
        """Equation (27) for the rule "boost", else (28)."""
        cdef Py_ssize_t i
        cdef double slope = 0, square = 0
        for i in range(target.shape[0]):
            self.weighted[i] = weight[i] * self.columns[column, i]
        slope = dot(&self.weighted[0], &self.left[0], target.shape[0])
        slope -= self.reg_lambda * (model[row] + target[row] - self.left[row])
        if self.rule == C_BOOST:
            return 0.5 * slope * slope / (self.amplitude + self.bias)
        square = dot(&self.weighted[0], &self.columns[column, 0], target.shape[0])
        return 0.5 * slope * slope / (self.reg_lambda * (self.amplitude + self.bias) + square)
