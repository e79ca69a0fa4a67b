"""Parameters of estimators that several families have: name, check and description in one place.

A class lists its parameters in `_parameters`.  Its base checks the values that an estimator holds against this list.
`describe` writes the list into the docstring, with the defaults of the constructor.  Constructors stay written out, so
that a signature can be read where it stands.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from .._native.scoring import TILE_ROWS
from .._protocol.arguments import (
    MAX_THREADS,
    Check,
    check_jobs,
    check_random_state,
    check_scalar,
    choice,
    number,
    of_class,
)
from .._protocol.docstrings import Attribute as Attribute
from .._protocol.docstrings import Parameter as Parameter
from .._protocol.docstrings import describe as describe_with
from ..errors import InvalidInputError

if TYPE_CHECKING:  # a model without a map does not load it
    from .._column_map.column_map import ColumnMap

def _check_class_weights(name: str, value: Any) -> None:
    if value is None or (isinstance(value, str) and value == "balanced"):
        return
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{name} must be a dict of labels and numbers > 0, 'balanced' or None, got {value!r}")
    for label, factor in value.items():
        check_scalar(f"{name} of {label!r}", factor, float, 0, 1e100, open_low=True)


# Types of parameters that several families have.
Gamma: TypeAlias = float | Literal["scale"]
Density: TypeAlias = Literal["gaussian", "laplace", "matern32", "matern52"]
ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None
MapOrNone: TypeAlias = "ColumnMap | Literal['auto', 'search'] | None"


def describe(cls: type) -> None:
    """Fill in the docstrings of a class and of its methods, with the arguments that several families have.

    {y} is {labels} of classifiers and {targets} of regressors.
    """
    describe_with(cls, ARGUMENTS | {"y": ARGUMENTS["labels" if getattr(cls, "_has_labels", True) else "targets"]})


# Arguments of methods, by the name in braces; those that several families have.
_X = Attribute("X", "array of shape (n_samples, n_features), or RowBlocks",
               "float32 and float64 are kept as given, others are converted to float64.  RowBlocks and `numpy.memmap` "
               "are read block by block")
ARGUMENTS = {
    "X": _X.described(_X.text + " in every pass, never as a whole."),
    "X_packed": _X.described(_X.text + "; the rows are packed in memory."),
    "X_scored": _X.described("Rows with the columns of `fit`.  float32 rows are scored in single precision where it "
                             "suffices, others in double."),
    "labels": Attribute("y", "array of shape (n_samples,)", "Labels of any sortable type."),
    "targets": Attribute("y", "array of shape (n_samples,) or (n_samples, n_targets)", "Finite numbers."),
    "sample_weight": Attribute("sample_weight", "array of shape (n_samples,) or None",
                               "Weights >= 0 that multiply a row's term in every sum.  Random draws of rows, such as "
                               "folds, validation rows and samples, count a row once, whatever its weight, so that "
                               "a row of weight 2 is not in all ways the same as two rows."),
    "eval_set": Attribute("eval_set", "(X, y) or (X, y, sample_weight) or None",
                          "Validation rows, in the forms of X and y, for early stopping; the round of lowest loss on "
                          "them is kept."),
    "callback": Attribute("callback", "callable or None",
                          "Called with a `RoundInfo` after each round; returning True ends the fit."),
}

def eval_sets(text: str) -> Attribute:
    """The argument `eval_set` of a family that takes several sets, and its own words for one."""
    return Attribute(
        "eval_set", "(X, y) or (X, y, sample_weight), a list or dict of such, or None",
        f"{text}  Of several sets the first decides when to stop; `eval_losses_` has the losses of all, "
        'by the names of a dict, or as "valid_0", "valid_1" and so on.')


GAMMA = Parameter("gamma", number(float, 0, 1e100, open_low=True, word="scale"),
                  "Inverse squared width of the kernel exp(-gamma |x - x'|^2), hence omega ~ N(0, 2 gamma I); `kernel` "
                  'has others of the same length scale.  "scale" is 1 / n_features on standardised columns, and 1 / '
                  "(n_features times their mean variance) without standardisation.")
KERNEL = Parameter(
    "kernel", choice(*get_args(Density)),
    "The kernel, of length scale l = 1 / sqrt(2 gamma), from whose spectral density the omegas are drawn: "
    "exp(-|x - x'|^2 / (2 l^2)), exp(-|x - x'|_1 / l), or the Matern kernel of smoothness 3/2 or 5/2.  Draws of "
    '"laplace" are `standard_cauchy`; each landmark\'s or round\'s draw of Matern kernels is followed by a `chisquare` '
    "draw of one number for each omega.")
LEARNING_RATE = Parameter("learning_rate", number(float, 0, 1, open_low=True), "Factor on every step.")
MAX_ITER = Parameter("max_iter", number(int, 0, 10**6), "L-BFGS iterations per round.")
MAX_SAMPLES = Parameter("max_samples", number(int, TILE_ROWS, optional=True),
                        "Largest number of rows that one round's search uses; the step uses all rows.  More rows than "
                        "this are shuffled once and divided into equal subsets, which the rounds take in turn.  None: "
                        "all rows.")
N_ESTIMATORS = Parameter("n_estimators", number(int, 1, 10**8), "Number of boosting rounds T.")
N_COMPONENTS = Parameter("n_components", number(int, 1, 10**6), "Number of cosines K of a landmark.")
BETA = Parameter("beta", number(float, 0, 1e100),
                 "Inverse temperature of the pseudo-posterior: how strongly a landmark prefers cosines that suit the "
                 "rows; 0 gives all equal weights.  Worth trying: 0.01 to 100, in factors of 10.")
STANDARDIZE = Parameter("standardize", choice(True, False),
                        "Learn on columns of mean 0 and variance 1.  Prediction takes raw rows either way.")
EARLY_STOPPING_ROUNDS = Parameter("early_stopping_rounds", number(int, 1, optional=True),
                                  "Rounds without a lower evaluation loss after which to stop; used only with an "
                                  "`eval_set` or a `validation_fraction`.")
VALIDATION_FRACTION = Parameter(
    "validation_fraction", number(float, 0, 0.9, open_low=True, optional=True),
    "Share of the rows that are validation rows if there is no `eval_set`, for early stopping; stratified by class.  "
    "They are the first draw: a `permutation` of the rows of positive weight.  None: there are no validation rows, and "
    "without an `eval_set` all rounds are kept.")
CONTINUES = (
    "Whether `fit` goes on from where the last call ended, with the same rows and parameters, up to `n_estimators` "
    "rounds in all.  The model is the same to the last bit as after one call with warm_start=True and the last "
    "`n_estimators` and `early_stopping_rounds`.  `random_state` has no effect then.  Other rows, or other values of "
    "parameters that training depends on, are an error.  ")
WARM_START = Parameter(
    "warm_start", choice(True, False), CONTINUES +
    "Draws come from four generators, so that each goes on: their seeds are the only draw, an `integers` of four.  For "
    "n rows and k outputs a model keeps 8 n k bytes for this, not in model files.")
MAX_SECONDS = Parameter(
    "max_seconds", number(float, 0, 1e9, open_low=True, optional=True),
    "Seconds after which `fit` stops and keeps the best rounds so far.  The time is checked after each round, so that "
    "at least one is trained, and `fit` exceeds the limit by one round and the last steps.  Which rounds are kept then "
    "depends on the speed of the machine; a fit that ends earlier gives the same model as one without a limit.  With "
    "`warm_start`, the next call goes on for as many seconds.  If None, there is no limit.  Not kept in model files.")
CLASS_WEIGHT = Parameter(
    "class_weight", Check('dict of labels and numbers > 0, "balanced" or None', _check_class_weights),
    'Factor on the weights of the rows of each label; "balanced" gives all classes the same sum of weights.  If None, '
    "it is 1 for all.")
PRECISION = Parameter("precision", choice("single", "double"),
                      "Arithmetic of the training kernels.  Sums over tiles and predictions kept in training are "
                      'double in both.  "single" becomes "double" where angles omega . x may exceed 4000 radians.')
COLUMNS = Parameter("columns", of_class("ColumnMap", "auto", "search"),
                    '"auto" takes any table: complete numbers stay as they are, and columns of a table with missing '
                    'values, text, categories, dates or booleans are mapped to numbers.  "search" compares maps on '
                    "validation rows.  A `ColumnMap` maps every table; None takes finite numbers alone.  The fitted "
                    "map is `column_map_`, and fitted attributes are then of mapped columns: "
                    "docs/tables.md#which-columns-become-what.")
RANDOM_STATE = Parameter("random_state", Check("int >= 0, numpy.random.Generator, numpy.random.RandomState or None",
                                               check_random_state),
                         "Seed of the random draws: an int gives the same model each time, None another one; a "
                         "generator is drawn from.")
N_JOBS = Parameter("n_jobs", Check(f"int in [1, {MAX_THREADS}], -1 or None", check_jobs),
                   "Number of threads, at most one for each CPU.  None and -1 mean all CPUs that this process may use. "
                   " The result is the same to the last bit for any number.  Not kept in model files.")
LAST = COLUMNS, RANDOM_STATE, N_JOBS
VERBOSE = Parameter("verbose", number(int, 0), "Print a line on stderr every so many rounds; 0 for none.")

CLASSES_ = Attribute("classes_", "array of shape (n_classes,)", "The labels, sorted.")
EXPANSION_ = Attribute("expansion_", "Expansion", "The trained function of a raw row, immutable.")
N_FEATURES_IN_ = Attribute("n_features_in_", "int",
                           "Number of columns; `feature_names_in_` has their names where `fit` saw a data frame.")
COLUMN_MAP_ = Attribute("column_map_", "ColumnMap or None",
                        "The fitted map of the columns, None if there is no map; `columns=None` does not set it.")
TIMED_OUT_ = Attribute("timed_out_", "bool",
                       "Whether `max_seconds` has ended the last `fit`; not kept in model files.")
N_ESTIMATORS_ = Attribute("n_estimators_", "int", "Number of rounds kept.")
EVAL_LOSSES_ = Attribute("eval_losses_", "dict of arrays",
                         "Losses on each set of validation rows by its name; eval_loss_ has those of the first; "
                         "not kept in model files.")
N_COMPONENTS_ = Attribute("n_components_", "int", "Number of cosines of each landmark.")
