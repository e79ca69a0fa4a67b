"""Symmetric trees as weak learners: every level splits all rows by bin > threshold of one column.

The number of a leaf is the sum over levels of (binned[columns[level]] > threshold_bins[level]) << level.  Growth takes
at each level the split of the largest gain, summed over leaves and outputs.
"""

from cython.parallel cimport prange
from libc.stdint cimport int8_t, uint8_t, uint16_t

from .boost.trees cimport (
    VT_COARSE_PLACES, VT_FEW_CANDIDATES, VT_MAX_DEPTH, add_windows, begin, choose_split, count_right, find_gains,
    find_values, finish, lay_out, look_up, move_rows, number_leaves, place_strips, plan_gains, plan_moves,
    plan_values, plan_windows, refine_split, sum_leaves, sum_strip, vt_growth, vt_store_size,
)
from .core.checks cimport agree, are_indices
from .core.signals cimport look_at_signals
from .core.tiles cimport TILE

MAX_DEPTH = VT_MAX_DEPTH
FEW_CANDIDATES = VT_FEW_CANDIDATES
MOST_LEVELS = VT_COARSE_PLACES - 1   # of a bundle
ALWAYS_LEFT = 255   # the threshold of a level that splits nothing

cdef enum:
    ROWS_BETWEEN_SIGNALS = 1 << 20
    TILES_AT_ONCE = 32


def store_size(Py_ssize_t n_train, Py_ssize_t n_outputs, Py_ssize_t n_candidates, Py_ssize_t depth):
    """Numbers in the TEMP array `store`: 2 MB, and 2 or 3 times n_outputs + n_candidates / 8 for each training row."""
    agree(n_train >= 1 and n_outputs >= 1 and n_candidates >= 1,
          "n_train, n_outputs and n_candidates must be at least 1")
    agree(0 <= depth <= VT_MAX_DEPTH, "depth must be from 0 to MAX_DEPTH")
    return vt_store_size(n_train, n_outputs, n_candidates, depth)


cdef bint _split_leaves(vt_growth *growth, int n_threads) noexcept nogil:
    """Split all leaves by the column and threshold of the largest gain; False if none has a gain."""
    cdef Py_ssize_t i
    plan_gains(growth)
    for i in prange(growth.n_strips, schedule='dynamic', num_threads=n_threads):
        sum_strip(growth, i)
    for i in prange(growth.n_blocks, schedule='dynamic', num_threads=n_threads):
        find_gains(growth, i)
    if not choose_split(growth):
        return False
    plan_windows(growth)
    for i in prange(growth.n_strips + growth.n_blocks, schedule='dynamic', num_threads=n_threads):
        add_windows(growth, i)
    refine_split(growth)
    plan_moves(growth)
    for i in prange(growth.n_strips, schedule='dynamic', num_threads=n_threads):
        count_right(growth, i)
    place_strips(growth)
    for i in prange(growth.n_strips + growth.n_blocks, schedule='dynamic', num_threads=n_threads):
        move_rows(growth, i)
    growth.depth += 1
    return True


def grow_tree(
    const uint8_t[:, ::1] binned,          # IN   (n_columns, n) bins
    const Py_ssize_t[::1] n_bins,          # IN   (n_columns,) bins of a column are below
    const int8_t[::1] signs,               # IN   (n_columns,) 1 or -1 where values rise or fall with the bin, else 0
    const Py_ssize_t[::1] indicators,      # IN   (n_columns,) of a bundle the column that indicates its bin 0, else -1
    const float[:, ::1] gradient,          # IN   (n_outputs, n) times weight
    const float[:, ::1] hessian,           # IN   (n_outputs, n) times weight
    const Py_ssize_t[::1] candidates,      # IN   (n_candidates,) columns to split by
    Py_ssize_t depth,
    double reg,                            # above 0
    Py_ssize_t n_train,                    # the first rows, which the tree is grown on
    Py_ssize_t[::1] columns,               # OUT  (depth,)
    Py_ssize_t[::1] threshold_bins,        # OUT  (depth,) ALWAYS_LEFT from the depth reached on
    double[::1] gains,                     # OUT  (depth,) with the sides of all leaves, in order or not
    double[:, ::1] values,                 # OUT  (2^depth, n_outputs) G / (H + reg) of each leaf
    double[::1] store,                     # TEMP (store_size,)
    int n_threads,
):
    """Grow a tree; return the depth reached.

    The gain of a split is the sum over leaves and outputs of GL^2 / (HL + reg) + GR^2 / (HR + reg) - G^2 / (H + reg),
    where L has the rows with bin <= threshold.  A leaf whose sides have values G / (H + reg) that are not in the order
    of the sign adds 0; values of the leaves of a tree may be out of order all the same.  Of equal gains the first wins,
    in the order of candidates, then of thresholds.  Of more than FEW_CANDIDATES, only every second threshold of a
    column of more than 64 bins is looked at first, or every fourth of more than 128; then the 16 around the best of
    these, from the seventh before it.  Gains are compared in single precision: one below 1e-6 of the sum of
    G^2 / (H + reg) counts as none.

    A bundle stands for indicators, columns next to each other of which a row has 1 in one at most: its bin says in
    which, and the last bin that it has 0 in all.  It has no sign.  Candidates are the bundle or its indicators; the
    tree has the indicators.
    """
    cdef Py_ssize_t n_outputs = gradient.shape[0], level, i, work = 0
    cdef bint grows = True
    cdef vt_growth growth
    agree(n_bins.shape[0] == binned.shape[0], "n_bins must have shape (n_columns,)")
    agree(signs.shape[0] == binned.shape[0], "signs must have shape (n_columns,)")
    agree(indicators.shape[0] == binned.shape[0], "indicators must have shape (n_columns,)")
    for i in range(n_bins.shape[0]):
        agree(1 <= n_bins[i] <= 256, "n_bins must be from 1 to 256")
        agree(-1 <= signs[i] <= 1, "signs must be -1, 0 or 1")
        agree(indicators[i] == -1 or 0 <= indicators[i] <= binned.shape[0] - n_bins[i] + 1,
              "indicators must be columns, or -1")
        agree(indicators[i] == -1 or (n_bins[i] <= VT_COARSE_PLACES and signs[i] == 0),
              "bundles must have at most MOST_LEVELS indicators, and no sign")
    agree(n_outputs >= 1 and gradient.shape[1] == binned.shape[1], "gradient must have shape (n_outputs, n)")
    agree(hessian.shape[0] == n_outputs and hessian.shape[1] == binned.shape[1],
          "hessian must have shape (n_outputs, n)")
    agree(candidates.shape[0] >= 1 and are_indices(candidates, binned.shape[0]), "candidates must be columns")
    agree(0 <= depth <= VT_MAX_DEPTH, "depth must be from 0 to MAX_DEPTH")
    agree(reg > 0, "reg must be above 0")
    agree(1 <= n_train <= binned.shape[1], "n_train must be from 1 to n")
    agree(columns.shape[0] == depth, "columns must have shape (depth,)")
    agree(threshold_bins.shape[0] == depth, "threshold_bins must have shape (depth,)")
    agree(gains.shape[0] == depth, "gains must have shape (depth,)")
    agree(values.shape[0] == <Py_ssize_t>1 << depth and values.shape[1] == n_outputs,
          "values must have shape (2^depth, n_outputs)")
    agree(store.shape[0] >= vt_store_size(n_train, n_outputs, candidates.shape[0], depth),
          "store must have shape (store_size,)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    growth.binned, growth.gradient, growth.hessian = &binned[0, 0], &gradient[0, 0], &hessian[0, 0]
    growth.n_bins, growth.signs, growth.indicators = &n_bins[0], &signs[0], &indicators[0]
    growth.candidates, growth.store = &candidates[0], &store[0]
    growth.stride, growth.n_rows, growth.n_outputs = binned.shape[1], n_train, n_outputs
    growth.n_candidates, growth.max_depth, growth.reg = candidates.shape[0], depth, reg
    with nogil:
        begin(&growth)
        for i in prange(growth.n_blocks, schedule='dynamic', num_threads=n_threads):
            lay_out(&growth, i)
        for level in range(depth):
            grows = grows and _split_leaves(&growth, n_threads)
            columns[level] = candidates[growth.candidate] if grows else columns[0] if level > 0 else candidates[0]
            threshold_bins[level] = growth.threshold if grows else 255
            if grows and indicators[columns[level]] >= 0:
                columns[level], threshold_bins[level] = indicators[columns[level]] + growth.threshold, 0
            gains[level] = -growth.score if grows else 0
            if level > 0 and growth.depth >= level:
                gains[level - 1] += growth.score
            look_at_signals(&work, n_train * n_outputs * (candidates.shape[0] + 8) // n_threads)
        values[:] = 0
        plan_values(&growth)
        for i in prange(growth.n_blocks, schedule='dynamic', num_threads=n_threads):
            find_values(&growth, i, &values[0, 0])
        finish(&growth)
        if growth.depth == depth and depth > 0:
            gains[depth - 1] += growth.score
    return growth.depth


def leaf_sums(
    const uint8_t[:, ::1] binned,          # IN   (n_columns, n)
    const Py_ssize_t[::1] columns,         # IN   (depth,)
    const Py_ssize_t[::1] threshold_bins,  # IN   (depth,)
    const float[:, ::1] gradient,          # IN   (n_outputs, n) times weight
    const float[:, ::1] hessian,           # IN   (n_outputs, n) times weight
    Py_ssize_t n_train,                    # the first rows, which are summed
    uint16_t[::1] leaves,                  # OUT  (n_train,) the leaf of each row
    double[:, :, ::1] sums,                # OUT  (n_outputs, 2^depth, 2) of gradient and hessian in each leaf
    int n_threads,
):
    """Sums over the rows of each leaf, row after row: outputs are what threads share."""
    cdef Py_ssize_t tile, start = 0, stop, k, n = binned.shape[1], depth = columns.shape[0], work = 0
    cdef Py_ssize_t n_outputs = gradient.shape[0], n_leaves = <Py_ssize_t>1 << depth
    agree(depth <= VT_MAX_DEPTH and are_indices(columns, binned.shape[0]), "columns must be those of binned")
    agree(threshold_bins.shape[0] == depth and are_indices(threshold_bins, 256),
          "threshold_bins must have shape (depth,) and be bins")
    agree(n_outputs >= 1 and gradient.shape[1] == n, "gradient must have shape (n_outputs, n)")
    agree(hessian.shape[0] == n_outputs and hessian.shape[1] == n, "hessian must have shape (n_outputs, n)")
    agree(1 <= n_train <= n, "n_train must be from 1 to n")
    agree(leaves.shape[0] == n_train, "leaves must have shape (n_train,)")
    agree(sums.shape[0] == n_outputs and sums.shape[1] == n_leaves and sums.shape[2] == 2,
          "sums must have shape (n_outputs, 2^depth, 2)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    with nogil:
        sums[:] = 0
        while start < n_train:
            stop = min(start + ROWS_BETWEEN_SIGNALS, n_train)
            for tile in prange((stop - start + TILE - 1) // TILE, schedule='dynamic', chunksize=TILES_AT_ONCE,
                               num_threads=n_threads):
                number_leaves(&binned[0, start + tile * TILE], n, min(<Py_ssize_t>TILE, stop - start - tile * TILE),
                              &columns[0] if depth else NULL, &threshold_bins[0] if depth else NULL, depth,
                              &leaves[start + tile * TILE])
            for k in prange(n_outputs, schedule='dynamic', num_threads=n_threads):
                sum_leaves(&leaves[start], stop - start, &gradient[k, start], &hessian[k, start], &sums[k, 0, 0])
            look_at_signals(&work, (stop - start) * (depth + 4 * n_outputs) // n_threads)
            start = stop


def evaluate_tree(
    const uint8_t[:, ::1] binned,          # IN   (n_columns, n)
    const Py_ssize_t[::1] columns,         # IN   (depth,)
    const Py_ssize_t[::1] threshold_bins,  # IN   (depth,)
    const double[:, ::1] values,           # IN   (2^depth, n_outputs)
    float[:, ::1] out,                     # OUT  (n_outputs, n)
    int n_threads,
):
    """out = the values of the leaves of all rows."""
    cdef Py_ssize_t tile, start = 0, stop, n = binned.shape[1], depth = columns.shape[0], work = 0
    agree(depth <= VT_MAX_DEPTH and are_indices(columns, binned.shape[0]), "columns must be those of binned")
    agree(threshold_bins.shape[0] == depth and are_indices(threshold_bins, 256),
          "threshold_bins must have shape (depth,) and be bins")
    agree(values.shape[0] == <Py_ssize_t>1 << depth and values.shape[1] >= 1,
          "values must have shape (2^depth, n_outputs)")
    agree(out.shape[0] == values.shape[1] and out.shape[1] == n, "out must have shape (n_outputs, n)")
    agree(n_threads >= 1, "n_threads must be at least 1")
    with nogil:
        while start < n:
            stop = min(start + ROWS_BETWEEN_SIGNALS, n)
            for tile in prange((stop - start + TILE - 1) // TILE, schedule='dynamic', chunksize=TILES_AT_ONCE,
                               num_threads=n_threads):
                look_up(&binned[0, start + tile * TILE], n, min(<Py_ssize_t>TILE, stop - start - tile * TILE),
                        &columns[0] if depth else NULL, &threshold_bins[0] if depth else NULL, depth, &values[0, 0],
                        values.shape[1], &out[0, start + tile * TILE])
            look_at_signals(&work, (stop - start) * (depth + values.shape[1]) // n_threads)
            start = stop
