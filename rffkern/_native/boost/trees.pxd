"""Symmetric trees on vectors of rows: trees.h says what they do."""

from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t

from ..simd cimport table_trees

cdef extern from "trees.h" nogil:
    ctypedef struct vt_growth:
        const uint8_t *binned
        const float *gradient
        const float *hessian
        const Py_ssize_t *n_bins
        const int8_t *signs
        const Py_ssize_t *indicators
        const Py_ssize_t *candidates
        Py_ssize_t stride, n_rows, n_outputs, n_candidates, max_depth
        double reg
        double *store
        Py_ssize_t depth
        double scale, score
        Py_ssize_t candidate, threshold
        Py_ssize_t n_blocks, n_strips
    enum:
        VT_COARSE_PLACES
        VT_FEW_CANDIDATES
        VT_MAX_DEPTH
        VT_BINS
        VT_SUMMED
        VT_MAX_SCORED_DEPTH
        VT_TREE_BLOCK
    Py_ssize_t vt_store_size(Py_ssize_t n_rows, Py_ssize_t n_outputs, Py_ssize_t n_candidates,
                             Py_ssize_t depth) noexcept
    void begin "vm_trees->begin"(vt_growth *growth) noexcept
    void lay_out "vm_trees->lay_out"(vt_growth *growth, Py_ssize_t block) noexcept
    void plan_gains "vm_trees->plan_gains"(vt_growth *growth) noexcept
    void sum_strip "vm_trees->sum_strip"(vt_growth *growth, Py_ssize_t strip) noexcept
    void find_gains "vm_trees->find_gains"(vt_growth *growth, Py_ssize_t block) noexcept
    int choose_split "vm_trees->choose_split"(vt_growth *growth) noexcept
    void plan_windows "vm_trees->plan_windows"(vt_growth *growth) noexcept
    void add_windows "vm_trees->add_windows"(vt_growth *growth, Py_ssize_t part) noexcept
    void refine_split "vm_trees->refine_split"(vt_growth *growth) noexcept
    void plan_moves "vm_trees->plan_moves"(vt_growth *growth) noexcept
    void count_right "vm_trees->count_right"(vt_growth *growth, Py_ssize_t strip) noexcept
    void place_strips "vm_trees->place_strips"(vt_growth *growth) noexcept
    void move_rows "vm_trees->move_rows"(vt_growth *growth, Py_ssize_t part) noexcept
    void plan_values "vm_trees->plan_values"(vt_growth *growth) noexcept
    void find_values "vm_trees->find_values"(vt_growth *growth, Py_ssize_t block, double *values) noexcept
    void finish "vm_trees->finish"(vt_growth *growth) noexcept
    void number_leaves "vm_trees->number_leaves"(const uint8_t *binned, Py_ssize_t stride, Py_ssize_t width,
                                                 const Py_ssize_t *columns, const Py_ssize_t *thresholds,
                                                 Py_ssize_t depth, uint16_t *leaves) noexcept
    void sum_leaves "vm_trees->sum_leaves"(const uint16_t *leaves, Py_ssize_t n_rows, const float *gradient,
                                           const float *hessian, double *sums) noexcept
    void bin_values "vm_trees->bin_f32"(const float *x, Py_ssize_t step, Py_ssize_t n_rows, const float *edges,
                                        Py_ssize_t n_edges, int8_t *binned) noexcept
    void look_up "vm_trees->look_up"(const uint8_t *binned, Py_ssize_t stride, Py_ssize_t width,
                                     const Py_ssize_t *columns, const Py_ssize_t *thresholds, Py_ssize_t depth,
                                     const double *values, Py_ssize_t n_outputs, float *out) noexcept
