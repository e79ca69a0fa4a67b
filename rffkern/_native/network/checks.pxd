"""Rows that RFFNet is trained on, and checks of what `rffnet` is given."""

from ..core.checks cimport agree, are_indices, has_shape
from ..network.layout cimport GROUP
from ..rffnet cimport Loss
from ..core.tiles cimport TERMS, real

cdef struct Source:
    const float *singles    # one of both
    const double *doubles
    Py_ssize_t n_samples, n_features


cdef inline Source source_of(const float[:, ::1] singles, const double[:, ::1] doubles) noexcept:
    """Rows of one of both precisions; None for the other."""
    cdef Source rows
    rows.singles, rows.doubles = NULL, NULL
    if singles is not None:
        rows.n_samples, rows.n_features = singles.shape[0], singles.shape[1]
        if singles.shape[0] and singles.shape[1]:
            rows.singles = &singles[0, 0]
    else:
        rows.n_samples, rows.n_features = doubles.shape[0], doubles.shape[1]
        if doubles.shape[0] and doubles.shape[1]:
            rows.doubles = &doubles[0, 0]
    return rows


cdef inline int check_rows(
    Loss loss, const Source *X, const Py_ssize_t[::1] order, const double[::1] center,
    const double[::1] inverse_scale, const double[:, ::1] targets, const double[::1] weight, Py_ssize_t n_outputs,
) except -1:
    """Raise ValueError unless what is read for every row agrees."""
    agree(loss is not None, "loss must be a Loss")
    agree(X.n_features >= 1, "X must have columns")
    agree(are_indices(order, X.n_samples), "order must hold indices of rows")
    agree(center.shape[0] == X.n_features, "center must have shape (n_features,)")
    agree(inverse_scale.shape[0] == X.n_features, "inverse_scale must have shape (n_features,)")
    agree(targets.shape[0] == X.n_samples and targets.shape[1] >= loss.n_targets(n_outputs),
          "targets must have shape (n_samples, n_targets)")
    return agree(weight.shape[0] == 0 or weight.shape[0] == X.n_samples, "weight must have shape (n_samples,) or (0,)")


cdef inline int check_network(
    const real[:, ::1] omegas, const real[:, :, ::1] groups, const real[::1] shifts, real[:, :, ::1] coefficients,
    real[:, ::1] relevances, Py_ssize_t n_features, Py_ssize_t n_terms,
) except -1:
    """Raise ValueError unless the arrays of the network agree."""
    cdef Py_ssize_t padded_terms = omegas.shape[0], padded_features = (n_features + TERMS - 1) // TERMS * TERMS
    agree(padded_terms >= 1 and padded_terms % GROUP == 0 and omegas.shape[1] == n_features,
          "omegas must have shape (n_terms + 1 padded to a multiple of TERM_GROUP, n_features)")
    agree(groups.shape[0] == padded_terms // GROUP and groups.shape[1] == padded_features and groups.shape[2] == GROUP,
          "groups must have shape (padded_terms // TERM_GROUP, padded_features, TERM_GROUP)")
    agree(shifts.shape[0] == padded_terms, "shifts must have shape (padded_terms,)")
    agree(coefficients.shape[0] == 3 and coefficients.shape[1] >= 1 and coefficients.shape[2] == padded_terms,
          "coefficients must have shape (3, n_outputs, padded_terms)")
    agree(has_shape(relevances, 3, n_features), "relevances must have shape (3, n_features)")
    return agree(0 <= n_terms < padded_terms, "n_terms must be below the padded number of terms")
