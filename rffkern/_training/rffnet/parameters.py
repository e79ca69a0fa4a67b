"""The parameters and attributes that RFFNetRegressor and RFFNetClassifier share."""

from typing import Literal, TypeAlias

from ..._estimator.parameters import ARGUMENTS as SHARED
from ..._estimator.parameters import (
    COLUMNS,
    EARLY_STOPPING_ROUNDS,
    EVAL_LOSSES_,
    EXPANSION_,
    LEARNING_RATE,
    N_COMPONENTS_,
    N_FEATURES_IN_,
    N_JOBS,
    PRECISION,
    RANDOM_STATE,
    STANDARDIZE,
    VERBOSE,
    Attribute,
    Parameter,
    eval_sets,
)
from ..._protocol.arguments import Choice, Number
from ..spectral import SPECTRAL_DENSITIES
from .network import STEP_ORDERS

Density: TypeAlias = Literal["gaussian", "laplace", "matern32", "matern52"]
Solver: TypeAlias = Literal["alternating", "joint"]

FEATURES = (
    Parameter("n_components", Number(int, 1, 10**6, optional=True),
              "Number of random features s; None for sqrt(n) ln(n) of n rows, rounded down, at least 100 and at most "
              "4096."),
    Parameter("kernel", Choice(tuple(SPECTRAL_DENSITIES)),
              "The kernel h(relevances * (x - z)), from whose spectral density the omegas are drawn: exp(-|.|^2 / 2), "
              "exp(-|.|_1), or the Matern kernel of smoothness 3/2 or 5/2."),
)
LOSS = (
    Parameter("loss", Choice(("squared_error", "huber", "quantile")),
              "(y - f)^2; the Huber loss, which is the same up to |y - f| = delta and linear beyond; or the "
              "pinball loss of a quantile of y."),
    Parameter("delta", Number(float, 0, 1e10, open_low=True),
              "Where the Huber loss becomes linear, in units of the standard deviation of y."),
    Parameter("quantile", Number(float, 1e-6, 1 - 1e-6), "The quantile that the pinball loss estimates."),
)
STEPS = (
    Parameter("solver", Choice(tuple(STEP_ORDERS)),
              'How a mini-batch changes the model.  "alternating" takes a step on the coefficients, and from there a '
              'step on the relevances, as in Algorithm 1.  "joint" takes both steps from the same point, as in the '
              "authors' later code.  Both take the same time."),
    LEARNING_RATE.described(
        "Initial step size eta: steps of eta / sqrt(n_features) on relevances, whose initial values are 1 over the "
        "root of the number of columns that vary, and of 16 eta / sqrt(s) on coefficients.  After 6 validations "
        "without improvement, training returns to the best values and multiplies the step size by 0.3, at most "
        "twice."),
)
_REG_LAMBDA = Parameter("reg_lambda", Number(float, 0, 1e10, word="auto"), "")
_REG_LAMBDA_TEXT = (
    'Weight mu of the penalty on the squared coefficients.  "auto" begins with {first} / n for n rows.  After 3 '
    "validations without improvement it falls to a tenth, down to {last} / n; only then do step sizes fall.  Continued "
    "training uses {last} / n, where n counts the rows of all calls in `partial_fit`.")
TRAINING = (
    Parameter("reg_l1", Number(float, 0, 1e10),
              "Weight of a penalty on the sum of |relevances|, which sets some of them to 0."),
    Parameter("batch_size", Number(int, 1, 1 << 16), "Rows in a mini-batch."),
    Parameter("max_epochs", Number(int, 1, 10**8),
              "Largest number of epochs.  An epoch passes over all rows once, or several times until it has taken 32 "
              "steps."),
    EARLY_STOPPING_ROUNDS.described(
        "Validations without improvement after which to stop, once penalty and step size have their smallest values; "
        "None for all epochs.  Validations follow each epoch; an epoch of more than 500 steps is divided into parts of "
        "about 500 steps, each followed by a validation.  They count once the loss has fallen by 2 % from its first "
        "value, or after 2000 steps."),
    Parameter("validation_fraction", Number(float, 0, 0.9),
              "Fraction of the rows that are held out if there is no `eval_set`, at most 65536 rows and 2^24 numbers.  "
              "The values of lowest loss on them are kept.  If no rows are held out, the training loss of whole epochs "
              "decides."),
    Parameter("n_restarts", Number(int, 1, 10**6, optional=True),
              "Number of restarts, each with new random features; the one of lowest loss is kept.  None for 3 on up to "
              "10000 rows and 1 on more."),
    Parameter("warm_start", Choice((True, False)),
              "Whether `fit` continues from the state in which the last call ended, without restarts and with the same "
              "random features and units.  The same rows are held out if the number of rows is the same."),
    STANDARDIZE.described(
        "Learn on columns of mean 0 and variance 1.  Prediction takes raw rows either way.  False keeps the ratios of "
        "their standard deviations."),
    PRECISION.described("Arithmetic of the training kernels."),
    COLUMNS,
    RANDOM_STATE.described(
        "Source of the random draws.  If rows are to be held out, the first draw is a `permutation` of all rows, whose "
        "first rows are held out.  Then each restart draws its omegas, as one `standard_normal` or `standard_cauchy` "
        "array of shape (s, n_features), for Matern kernels followed by a `chisquare` array of shape (s, 1); a "
        "`uniform` array of s phases; and for each pass a `permutation` of the rows.  For streamed rows this is one of "
        "the rows of each block, after one of the blocks if they are those of an array."),
    N_JOBS.described(
        "Number of threads; None for the CPUs this process may use.  The result is the same to the last bit for any "
        "number.  Only batches of more than 128 rows are shared among threads."),
    VERBOSE.described("Print a line on stderr every so many epochs; 0 for none."),
)
ATTRIBUTES = (
    EXPANSION_,
    Attribute("relevances_", "array of shape (n_features,)",
              "|lambda| for columns in units of their standard deviation (without `standardize`, of the root of their "
              "mean variance); 0 for columns that do not vary."),
    Attribute("feature_importances_", "array of shape (n_features,)", "`relevances_` over the largest of them."),
    N_COMPONENTS_.described("Number of random features."),
    Attribute("n_epochs_, best_epoch_", "int",
              "Number of epochs, of which the last may be incomplete, and the epoch whose values were kept."),
    Attribute("train_loss_, eval_loss_", "arrays",
              "Mean training loss before the first epoch, measured on some of the rows, and during each epoch; mean "
              "loss on held-out rows before the first epoch, and the lowest during each epoch.  The loss of a row is "
              "the sum over outputs, with real targets in units of their standard deviation.  Both belong to the "
              "restart that was kept.  They are empty after `partial_fit`."),
    EVAL_LOSSES_.described(EVAL_LOSSES_.text + "  Where an epoch has several parts, the losses are those of all sets "
                           "after the part in which that of the first was lowest."),
    N_FEATURES_IN_,
)

ARGUMENTS = {
    "eval_set": eval_sets("Rows to validate on, in the forms of X and y; None to hold out a fraction of the rows."),
    "callback": SHARED["callback"].described(
        "Called with a `RoundInfo` after each epoch, counted from 1 in each restart; returning True ends training."),
    "weight_of_more_rows": SHARED["sample_weight"].described(
        "Weights >= 0 that multiply a row's loss, relative to the other rows of the same call."),
    "weight_in_score": SHARED["sample_weight"].described("Weights >= 0 of the rows."),
    "sizes": Attribute("sizes", "iterable of int or None",
                       "Numbers of columns, each of which takes one pass over the rows; None for 1, 2, ... up to all."),
}


def reg_lambda(first: float, last: float) -> Parameter:
    """The penalty, with its first and its last default times the number of rows."""
    return _REG_LAMBDA.described(_REG_LAMBDA_TEXT.format(first=first, last=last))
