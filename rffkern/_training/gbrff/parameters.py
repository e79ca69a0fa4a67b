"""Parameters and attributes that several boosted families share."""

from ..._estimator.parameters import ARGUMENTS as SHARED
from ..._estimator.parameters import (
    MAX_ITER,
    MAX_SAMPLES,
    N_ESTIMATORS,
    RANDOM_STATE,
    Attribute,
    Parameter,
    eval_sets,
)
from ..._protocol.arguments import Choice

N_LANDMARKS = N_ESTIMATORS.described("Number of boosting rounds T, and of landmarks.")
LANDMARKS = Parameter("landmarks", Choice(("learn", "random")),
                      '"learn" learns each landmark by a descent; "random" takes rows, drawn with replacement.')
LANDMARK_MAX_ITER = MAX_ITER.described("L-BFGS iterations per landmark, which starts from the mean of the rows.")
LANDMARK_MAX_SAMPLES = MAX_SAMPLES.described(
    "Largest number of rows that one round's landmark and pseudo-posterior are learned on; the step uses all rows.  "
    "More rows than this are shuffled once and divided into equal subsets, which the rounds take in turn.  None: all "
    "rows.")
LANDMARK_RANDOM_STATE = RANDOM_STATE.described(
    "Source of one `standard_normal` draw of shape (n_estimators, n_outputs, n_components, n_features), where there "
    "are more than `max_samples` rows one `permutation` of those with positive weight, and for random landmarks one "
    "`random` draw of n_estimators n_outputs numbers.")

LANDMARKS_ = Attribute("landmarks_", "array of shape (n_estimators_, n_features), or (n_estimators_, n_outputs, "
                       "n_features) for several outputs",
                       "In feature units; not kept in model files.  Where several points have the same phases it is "
                       "the one closest to the mean of the rows.")
N_LBFGS_ITER_ = Attribute("n_iter_", "int",
                          "L-BFGS iterations of all descents together; not kept in model files.")
FEATURE_IMPORTANCES_ = Attribute(
    "feature_importances_", "array of shape (n_features_in_,)",
    "For each column of the table, its share in what the rounds gained: sum over rounds t of (L_{t-1} - L_t) s_tj / "
    "sum over j of s_tj, divided by its sum over j.  L_t is the training loss after round t, and s_tj the sum over the "
    "cosines of round t of (amplitude omega_j)^2, with omega in units of the standard deviations of the columns.  The "
    "sum is 1, or 0 where there is no round.")
ARGUMENTS = {"eval_set": eval_sets(SHARED["eval_set"].text)}

# What model files have beside the expansion.
CURVES = ("train_loss_", "eval_loss_", "feature_importances_")


def loss_curves(what: str) -> Attribute:
    """The attributes train_loss_ and eval_loss_, of a mean of some loss."""
    return Attribute("train_loss_, eval_loss_", "arrays of shape (n_rounds + 1,)",
                     f"Mean {what} before the first round and after each; eval_loss_ is empty where no row is held "
                     "out.")
