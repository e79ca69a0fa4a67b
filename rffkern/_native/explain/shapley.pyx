"""Shapley values of terms that are products of one factor a column, and look-ups of those of trees.

`_model/shapley.py` has the mathematics.  Rows are treated in tiles of ROWS; a tile is one thread's, and the bits of a
row depend neither on the others nor on the number of threads.
"""

from cython.parallel cimport prange, threadid

from .core.checks cimport agree, are_indices
from .core.signals cimport at_once, look_at_signals
from .core.tiles cimport decay, sincospi
from .explain.products cimport (
    VX_ROWS, add, angles, complex_pairs, complex_values, real_pairs, real_values, squares, vx_rule, vx_scratch_size,
    within,
)
from .simd cimport team, use_team

use_team(team)

ROWS = VX_ROWS


cdef inline bint _are_ends(const Py_ssize_t[::1] ends, Py_ssize_t stop) noexcept nogil:
    """Whether they do not decrease, from 0 to `stop`."""
    cdef Py_ssize_t i, n = ends.shape[0]
    cdef bint good = n >= 1 and ends[0] == 0 and ends[n - 1] == stop
    for i in range(n - 1):
        good &= ends[i] <= ends[i + 1]
    return good


cdef class ProductTerms:
    """Terms that are products of one factor for each raw column that they read.

    Term t has the factors from ends[t] to ends[t + 1]; factor f belongs to raw column columns[f] and reads the entries
    from entry_ends[f] to entry_ends[f + 1]: mapped columns with a number each.  With turns, a factor is
    exp(i pi sum of number x) and a term the real part of turn times the product; without, a factor is
    2^-(sum of (number (x - center))^2) where low < x <= high for all its entries, else 0.
    """

    cdef readonly Py_ssize_t n_terms, n_factors, n_mapped, n_columns, n_outputs, most
    cdef readonly bint is_complex
    cdef const Py_ssize_t[::1] ends, columns, entry_ends, entries
    cdef const double[::1] numbers, centers, lows, highs
    cdef const double[:, ::1] turns, weights

    def __cinit__(
        self,
        Py_ssize_t n_mapped,
        Py_ssize_t n_columns,
        const Py_ssize_t[::1] ends,         # IN (n_terms + 1,)
        const Py_ssize_t[::1] columns,      # IN (n_factors,) raw columns, those of a term distinct
        const Py_ssize_t[::1] entry_ends,   # IN (n_factors + 1,)
        const Py_ssize_t[::1] entries,      # IN (n_entries,) mapped columns
        const double[::1] numbers,          # IN (n_entries,)
        const double[::1] centers,          # IN (n_entries,), or empty with turns
        const double[::1] lows,             # IN (n_entries,), or empty for no bounds
        const double[::1] highs,            # IN the same
        const double[:, ::1] turns,         # IN (n_terms, 2), or (0, 2)
        const double[:, ::1] weights,       # IN (n_terms, n_outputs)
    ):
        cdef Py_ssize_t t
        agree(_are_ends(ends, columns.shape[0]), "ends must go from 0 to the number of factors")
        agree(_are_ends(entry_ends, entries.shape[0]) and entry_ends.shape[0] == columns.shape[0] + 1,
              "entry_ends must go from 0 to the number of entries, with one more than factors")
        agree(are_indices(columns, n_columns), "columns must be indices of raw columns")
        agree(are_indices(entries, n_mapped), "entries must be indices of mapped columns")
        agree(numbers.shape[0] == entries.shape[0], "numbers must have the length of entries")
        self.n_terms, self.n_factors = ends.shape[0] - 1, columns.shape[0]
        self.is_complex = turns.shape[0] > 0
        agree(turns.shape[1] == 2 and (not self.is_complex or turns.shape[0] == self.n_terms),
              "turns must have shape (n_terms, 2) or (0, 2)")
        agree(centers.shape[0] == (0 if self.is_complex else entries.shape[0]),
              "centers must have the length of entries, or be empty with turns")
        agree(lows.shape[0] in (0, centers.shape[0]) and highs.shape[0] == lows.shape[0],
              "lows and highs must have the length of centers, or be empty")
        agree(weights.shape[0] == self.n_terms, "weights must have shape (n_terms, n_outputs)")
        self.n_mapped, self.n_columns, self.n_outputs = n_mapped, n_columns, weights.shape[1]
        self.ends, self.columns, self.entry_ends, self.entries = ends, columns, entry_ends, entries
        self.numbers, self.centers, self.lows, self.highs = numbers, centers, lows, highs
        self.turns, self.weights, self.most = turns, weights, 0
        for t in range(self.n_terms):
            self.most = max(self.most, ends[t + 1] - ends[t])

    cdef Py_ssize_t _total_size(self, bint with_pairs) noexcept nogil:
        """Of the sums of a row: a value for each column, or pair, and output."""
        return self.n_outputs * self.n_columns * (self.n_columns if with_pairs else 1)

    cdef Py_ssize_t _scratch_size(self, bint with_pairs) noexcept nogil:
        cdef Py_ssize_t most = self.most * (self.most if with_pairs else 1)
        return (VX_ROWS * (self.n_mapped + 2 * self.most + most + self._total_size(with_pairs) + 1)
                + vx_scratch_size(self.most, with_pairs))

    def scratch_size(self, bint with_pairs):
        """Numbers in the TEMP array `scratch` of a thread."""
        return self._scratch_size(with_pairs)

    cdef void _factors_of(self, Py_ssize_t t, const double *tile, double *temporary, double *factors) noexcept nogil:
        """Factors of a term at the rows of a tile, the imaginary parts after the real ones."""
        cdef Py_ssize_t f, first, n_entries, start = self.ends[t], k = self.ends[t + 1] - start
        for f in range(k):
            first = self.entry_ends[start + f]
            n_entries = self.entry_ends[start + f + 1] - first
            if self.is_complex:
                angles(tile, &self.entries[0] + first, &self.numbers[0] + first, n_entries, temporary + f * VX_ROWS)
            else:
                squares(tile, &self.entries[0] + first, &self.numbers[0] + first, &self.centers[0] + first, n_entries,
                        factors + f * VX_ROWS)
        if self.is_complex:
            sincospi(<const double *>temporary, k * VX_ROWS, factors + k * VX_ROWS, factors)
        else:
            decay(factors, k * VX_ROWS)
            if self.lows.shape[0]:
                for f in range(k):
                    first = self.entry_ends[start + f]
                    n_entries = self.entry_ends[start + f + 1] - first
                    within(tile, &self.entries[0] + first, &self.lows[0] + first, &self.highs[0] + first, n_entries,
                           factors + f * VX_ROWS)

    cdef void _fill_tile(self, const double[:, ::1] rows, Py_ssize_t first, double *tile) noexcept nogil:
        """Rows of a tile, column by column; the last one again beyond them."""
        cdef Py_ssize_t i, j, row
        for i in range(VX_ROWS):
            row = min(first + i, rows.shape[0] - 1)
            for j in range(self.n_mapped):
                tile[j * VX_ROWS + i] = rows[row, j]

    cdef void _factors_of_tile(self, const double[:, ::1] rows, Py_ssize_t first, double *scratch,
                               double[:, :, ::1] out) noexcept nogil:
        cdef Py_ssize_t t, f, i, part, k
        cdef double *tile = scratch
        cdef double *factors = tile + self.n_mapped * VX_ROWS
        cdef double *temporary = factors + 2 * self.most * VX_ROWS
        self._fill_tile(rows, first, tile)
        for t in range(self.n_terms):
            k = self.ends[t + 1] - self.ends[t]
            if k == 0:
                continue
            self._factors_of(t, tile, temporary, factors)
            for i in range(min(<Py_ssize_t>VX_ROWS, rows.shape[0] - first)):
                for part in range(out.shape[1]):
                    for f in range(k):
                        out[first + i, part, self.ends[t] + f] = factors[(part * k + f) * VX_ROWS + i]

    cdef int _check_rows(self, const double[:, ::1] rows, const double[:, ::1] scratch, bint with_pairs,
                         int n_threads) except -1:
        agree(rows.shape[1] == self.n_mapped and rows.shape[0] >= 1, "rows must have shape (n_rows, n_mapped)")
        agree(n_threads >= 1, "n_threads must be at least 1")
        return agree(scratch.shape[0] >= n_threads and scratch.shape[1] >= self._scratch_size(with_pairs),
                     "scratch must have shape (n_threads, scratch_size)")

    def factors(
        self,
        const double[:, ::1] rows,       # IN   (n_rows, n_mapped)
        double[:, :, ::1] out,           # OUT  (n_rows, n_parts, n_factors), of complex ones real and imaginary parts
        double[:, ::1] scratch,          # TEMP (n_threads, scratch_size)
        int n_threads,
    ):
        """out = the factors of all terms at some rows."""
        self._check_rows(rows, scratch, False, n_threads)
        agree(out.shape[0] == rows.shape[0] and out.shape[1] == 1 + self.is_complex and out.shape[2] == self.n_factors,
              "out must have shape (n_rows, n_parts, n_factors)")
        cdef Py_ssize_t b, n_tiles = (rows.shape[0] + VX_ROWS - 1) // VX_ROWS
        if self.n_factors == 0:
            return
        for b in prange(n_tiles, nogil=True, schedule='dynamic', num_threads=n_threads):
            self._factors_of_tile(rows, b * VX_ROWS, &scratch[threadid(), 0], out)

    cdef void _add_tile(self, const double[:, ::1] rows, Py_ssize_t first, const double[:, :, ::1] means,
                        const Py_ssize_t[::1] rule_ends, const double[:, ::1] rules, bint with_pairs, double *scratch,
                        double[:, :, ::1] out) noexcept nogil:
        cdef Py_ssize_t t, b, f, g, i, o, k, pair, start, n_values
        cdef Py_ssize_t n_backgrounds = means.shape[0], n_totals = self._total_size(with_pairs)
        cdef double *tile = scratch
        cdef double *factors = tile + self.n_mapped * VX_ROWS
        cdef double *values = factors + 2 * self.most * VX_ROWS
        cdef double *totals = values + (self.most * (self.most if with_pairs else 1) + 1) * VX_ROWS
        cdef double *temporary = totals + n_totals * VX_ROWS
        cdef double weight
        cdef vx_rule rule
        self._fill_tile(rows, first, tile)
        for i in range(n_totals * VX_ROWS):
            totals[i] = 0
        for t in range(self.n_terms):
            start = self.ends[t]
            k = self.ends[t + 1] - start
            if k < 1 + with_pairs:
                continue
            self._factors_of(t, tile, values, factors)
            rule.nodes, rule.weights = &rules[0, rule_ends[k]], &rules[1, rule_ends[k]]
            rule.n_nodes = rule_ends[k + 1] - rule_ends[k]
            n_values = k * (k - 1) // 2 if with_pairs else k
            for i in range(n_values * VX_ROWS):
                values[i] = 0
            for b in range(n_backgrounds):
                if self.is_complex and with_pairs:
                    complex_pairs(factors, &means[b, 0, start], &means[b, 1, start], k, &self.turns[t, 0], rule,
                                  temporary, values)
                elif self.is_complex:
                    complex_values(factors, &means[b, 0, start], &means[b, 1, start], k, &self.turns[t, 0], rule,
                                   temporary, values)
                elif with_pairs:
                    real_pairs(factors, &means[b, 0, start], k, rule, temporary, values)
                else:
                    real_values(factors, &means[b, 0, start], k, rule, temporary, values)
            for o in range(self.n_outputs):
                weight = self.weights[t, o] / n_backgrounds
                if weight == 0:
                    continue
                if with_pairs:
                    pair = 0
                    for f in range(k):
                        for g in range(f + 1, k):
                            add(values + pair * VX_ROWS, weight,
                                totals + ((self.columns[start + f] * self.n_columns + self.columns[start + g])
                                          * self.n_outputs + o) * VX_ROWS)
                            pair += 1
                else:
                    for f in range(k):
                        add(values + f * VX_ROWS, weight,
                            totals + (self.columns[start + f] * self.n_outputs + o) * VX_ROWS)
        for i in range(min(<Py_ssize_t>VX_ROWS, rows.shape[0] - first)):
            for f in range(out.shape[1]):
                for o in range(out.shape[2]):
                    out[first + i, f, o] += totals[(f * out.shape[2] + o) * VX_ROWS + i]

    def add_values(
        self,
        const double[:, ::1] rows,           # IN   (n_rows, n_mapped)
        const double[:, :, ::1] means,       # IN   (n_backgrounds, n_parts, n_factors)
        const Py_ssize_t[::1] rule_ends,     # IN   (most + 2,) of the nodes for k columns among those of all k
        const double[:, ::1] rules,          # IN   (2, n_nodes) nodes, and their weights
        bint with_pairs,
        double[:, :, ::1] out,               # IN/OUT (n_rows, n_columns, n_outputs), of pairs (n_rows, n_columns^2, ..)
        double[:, ::1] scratch,              # TEMP (n_threads, scratch_size)
        int n_threads,
    ):
        """Add the Shapley values of rows, or their interactions at the places of the pairs of rising columns."""
        cdef Py_ssize_t b, first = 0, last, work = 0, n_tiles = (rows.shape[0] + VX_ROWS - 1) // VX_ROWS
        cdef Py_ssize_t each = VX_ROWS * (self.n_factors + 1) * means.shape[0] * 64
        self._check_rows(rows, scratch, with_pairs, n_threads)
        agree(means.shape[0] >= 1 and means.shape[1] == 1 + self.is_complex and means.shape[2] == self.n_factors,
              "means must have shape (n_backgrounds, n_parts, n_factors)")
        agree(rules.shape[0] == 2 and rule_ends.shape[0] >= self.most + 2 and _are_ends(rule_ends, rules.shape[1]),
              "rule_ends must go from 0 to the number of nodes, for each number of columns")
        agree(out.shape[0] == rows.shape[0] and out.shape[2] == self.n_outputs
              and out.shape[1] == self.n_columns * (self.n_columns if with_pairs else 1),
              "out must have shape (n_rows, n_columns, n_outputs), or n_columns^2 with pairs")
        if self.n_factors == 0:
            return
        with nogil:
            while first < n_tiles:
                last = min(n_tiles, first + n_threads * at_once(each))
                for b in prange(first, last, schedule='dynamic', num_threads=n_threads):
                    self._add_tile(rows, b * VX_ROWS, means, rule_ends, rules, with_pairs, &scratch[threadid(), 0], out)
                look_at_signals(&work, (last - first) * each)
                first = last


cdef void _add_leaves(
    const double[:, ::1] rows, Py_ssize_t first, const Py_ssize_t[:, ::1] columns, const double[:, ::1] thresholds,
    const Py_ssize_t[:, ::1] steps, const Py_ssize_t[::1] ends, const Py_ssize_t[::1] players,
    const Py_ssize_t[::1] starts, const double[::1] tables, double[:, :, ::1] out,
) noexcept nogil:
    cdef Py_ssize_t row, t, level, leaf, p, o, place, n_outputs = out.shape[2]
    for t in range(columns.shape[0]):   # the table of a tree is read for all rows of a tile
        for row in range(first, min(first + VX_ROWS, rows.shape[0])):
            leaf = 0
            for level in range(columns.shape[1]):
                leaf += steps[t, level] * (rows[row, columns[t, level]] > thresholds[t, level])
            place = starts[t] + leaf * (ends[t + 1] - ends[t]) * n_outputs
            for p in range(ends[t], ends[t + 1]):
                for o in range(n_outputs):
                    out[row, players[p], o] += tables[place]
                    place += 1


def add_leaves(
    const double[:, ::1] rows,            # IN   (n_rows, n_mapped)
    const Py_ssize_t[:, ::1] columns,     # IN   (n_trees, depth) mapped columns
    const double[:, ::1] thresholds,      # IN   (n_trees, depth)
    const Py_ssize_t[:, ::1] steps,       # IN   (n_trees, depth) what going right adds to the number of the leaf
    const Py_ssize_t[::1] ends,           # IN   (n_trees + 1,) of the places of each tree
    const Py_ssize_t[::1] places,         # IN   (n_places,) where in `out` the numbers of a tree are added
    const Py_ssize_t[::1] starts,         # IN   (n_trees + 1,) of the tables of each tree
    const double[::1] tables,             # IN   (n_numbers,) for each leaf, place and output
    double[:, :, ::1] out,                # IN/OUT (n_rows, n_places_of_a_row, n_outputs)
    int n_threads,
):
    """out[i, places[p], o] += the number of place p and output o in the leaf of row i, for each tree."""
    cdef Py_ssize_t t, level, n_leaves, n_trees = columns.shape[0], i
    agree(thresholds.shape[0] == steps.shape[0] == n_trees
          and thresholds.shape[1] == steps.shape[1] == columns.shape[1],
          "columns, thresholds and steps must have shape (n_trees, depth)")
    agree(out.shape[0] == rows.shape[0], "out must have a row for each row")
    agree(n_threads >= 1, "n_threads must be at least 1")
    agree(ends.shape[0] == n_trees + 1 and _are_ends(ends, places.shape[0]), "ends must go from 0 to n_places")
    agree(starts.shape[0] == n_trees + 1 and _are_ends(starts, tables.shape[0]), "starts must go from 0 to n_numbers")
    agree(are_indices(places, out.shape[1]), "places must be indices of out")
    for t in range(n_trees):
        n_leaves = 1
        for level in range(columns.shape[1]):
            agree(0 <= columns[t, level] < rows.shape[1], "columns must be indices of mapped columns")
            agree(steps[t, level] >= 0, "steps must be at least 0")
            n_leaves += steps[t, level]
        agree(n_leaves * (ends[t + 1] - ends[t]) * out.shape[2] == starts[t + 1] - starts[t],
              "tables must have a number for each leaf, place and output")
    for i in prange((rows.shape[0] + VX_ROWS - 1) // VX_ROWS, nogil=True, schedule='dynamic', num_threads=n_threads):
        _add_leaves(rows, i * VX_ROWS, columns, thresholds, steps, ends, places, starts, tables, out)
