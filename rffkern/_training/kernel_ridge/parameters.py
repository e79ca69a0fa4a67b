"""Parameters and attributes of kernel ridge regression, and importances of columns by their length scales."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from ..._estimator import parameters as shared
from ..._estimator.parameters import Attribute, Parameter
from ..._native.array_types import Double, NDArray
from ..._native.sparse import SHAPES
from ..._protocol.arguments import Auto, Check, check_scalar, choice, number
from ...errors import InvalidInputError
from .regions import LARGEST_REGION, MOST_ROWS

Shape: TypeAlias = Literal["exponential", "gaussian"]
LengthScalesSpec: TypeAlias = float | Auto | Sequence[float] | NDArray[Any]

# A difference of two rows times this may overflow, as for rows that are far apart; for equal rows the product is 0.
LARGEST_INVERSE = 1e305


def _check_length_scales(name: str, value: Any) -> None:
    """Training checks their number against the columns."""
    if isinstance(value, str) and value == "auto":
        return
    lengths = np.asarray(value, dtype=object)
    if isinstance(value, str) or lengths.ndim > 1 or not lengths.size:
        raise InvalidInputError(f"{name} must be 'auto', a number or one for each column, got {value!r}")
    for length in lengths.ravel():
        check_scalar(name, length, float, low=1e-100, high=1e100)


LENGTH_SCALES = Check('"auto", number > 0 or array of them', _check_length_scales)


KERNEL = (
    Parameter("kernel", choice(*reversed(SHAPES)),
              'The kernel: exp(-r), "exponential", or exp(-r^2 / 2), "gaussian", with r^2 the sum over columns l of '
              "((x_l - z_l) / length_scale_l)^2."),
    Parameter("length_scale", LENGTH_SCALES,
              'Length scales, one number or one for each column.  "auto" chooses them by the squared error on rows '
              "that a model has not learned from: their common scale first, then one for each column in inverse "
              "proportion to the root mean squared derivative along it of a first model, twice, as long as this lowers "
              "the error, on up to 1500 rows; then their common scale again on up to 6000."),
    Parameter("reg_lambda", number(float, 0, 1e100, open_low=True, word="auto"),
              'Weight lambda of the regulariser, in units of the variance of y; "auto" chooses one of 0.01 to 3, of '
              "targets that are no labels also smaller ones from 0.0001 on, with the length scales, for weights of "
              "mean 1.  Beside such weights it is at least 1e-12."),
    Parameter("region_size", number(int, 10, 10**8, optional=True, word="auto"),
              "Rows that regions have on average at most.  Thresholds on columns divide more rows than that into 2, 4, "
              "8 or more regions, each with a regression of its own that also learns from the nearest rows of its "
              "neighbours; a row is scored by that of its region.  Length scales and lambda are then chosen on one "
              f'of them, the former in the proportions of random rows.  "auto": {LARGEST_REGION:,} where there are '
              f"more than {MOST_ROWS:,} rows.  None: all rows together; time and memory grow with their square."),
    Parameter("n_landmarks", number(int, 1, 10**8),
              "Number of random rows whose kernels with all rows make the preconditioner.  It changes the time of "
              "training and not its result, but for what `tol` leaves."),
    Parameter("cache_size", number(int, 0, 10**8),
              "Megabytes (2^20 bytes) of kernels that are kept between iterations.  All others are computed anew in "
              "each; the result is the same to the last bit."),
    Parameter("tol", number(float, 1e-12, 1),
              "Iterations end when |b - A x| <= tol |b| for each system of equations A x = b."),
    Parameter("max_iter", number(int, 0, 10**6), "Largest number of iterations."),
    shared.STANDARDIZE.described(
        "Learn on columns of mean 0 and variance 1, in whose units length scales are then given.  Prediction takes raw "
        "rows either way."),
    shared.PRECISION.described(
        "Precision in which kernels are computed and kept; all sums over rows are double.  In single precision the "
        'values of the solution are those of double precision to about 1e-6, or 1e-4 for smooth kernels.  "single" '
        "becomes \"double\" where rows lie too far from the center of the data for their distances to be resolved."),
)
REST = (
    *shared.LAST,
    shared.VERBOSE.described("Print a line on stderr at most once a second; 0 for none."),
)
REG_LAMBDA_ = Attribute("reg_lambda_", "float", "The weight lambda of the regulariser.")


def importances_by_distances(between: str, more: str = "") -> Attribute:
    """The attribute `feature_importances_` of sums of kernels."""
    return Attribute("feature_importances_", "array of shape (n_features_in_,)",
                     f"For each column of the table, its share in the squared distances between {between}: the "
                     "variance of their values over the square of the length scale, divided by its sum over columns.  "
                     f"Columns that a map makes of one count together.{more}")


ATTRIBUTES = (
    shared.EXPANSION_.described(
        "The trained function of a raw row, with a term for each row that a region learns from; immutable."),
    Attribute("length_scale_", "array of shape (n_features,)",
              "Length scales, in units of the columns that learning takes place in."),
    REG_LAMBDA_,
    Attribute("kernel_parameters_", "array of shape (1 + n_features,)", "Lambda and the length scales."),
    Attribute("n_iter_", "int", "Number of iterations, 1 where one inverse solves the systems of few rows or many "
              "outputs; not kept in model files."),
    Attribute("residual_", "float", "The largest |b - A x| / |b| that they have left; not kept in model files."),
    importances_by_distances("rows"),
    shared.N_FEATURES_IN_,
)


def given_length_scales(length_scale: Any, n_features: int, must_be: str = "length_scale must be 'auto',") -> Double:
    """The parameter `length_scale`, or that of a kernel, one for each column."""
    lengths = np.asarray(length_scale, dtype=np.float64)
    if lengths.ndim and lengths.shape != (n_features,):
        raise InvalidInputError(f"{must_be} a number or {n_features} numbers, one for each column, got shape "
                                f"{lengths.shape}")
    return np.broadcast_to(lengths, n_features).copy()


def shares_of_columns(expansion: Any, column_map: Any) -> Double:
    """The share of each column of the table in the squared distances between centers, of sum 1, or 0 of equal ones."""
    centers, inverse_length_scales = expansion.kernels.centers, expansion.kernels.inverse_length_scales
    shares: Double = np.zeros(len(inverse_length_scales))
    if len(centers):
        unit = np.maximum(np.abs(centers).max(axis=0), np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            spread = np.minimum((centers / unit).std(axis=0) * unit * inverse_length_scales, LARGEST_INVERSE)
        squares = (spread / max(spread.max(), np.finfo(np.float64).tiny)) ** 2
        shares = squares / (squares.sum() or 1.0)
    if column_map is None:
        return shares
    return np.bincount(column_map.sources_, shares, column_map.n_features_in_).astype(np.float64, copy=False)
