"""Parameters and attributes that several boosted families share."""

from .._data.arguments import Choice
from .._estimator.parameters import MAX_ITER, MAX_SAMPLES, N_ESTIMATORS, RANDOM_STATE, Attribute, Parameter

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


def loss_curves(what: str) -> Attribute:
    """The attributes train_loss_ and eval_loss_, of a mean of some loss."""
    return Attribute("train_loss_, eval_loss_", "arrays of shape (n_rounds + 1,)",
                     f"Mean {what} before the first round and after each; eval_loss_ is empty without an `eval_set`.")
