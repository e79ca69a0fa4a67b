"""Parameters and attributes that the classes of PBRFF have in common."""

from ..._estimator.parameters import (
    BETA,
    GAMMA,
    N_COMPONENTS,
    N_COMPONENTS_,
    N_FEATURES_IN_,
    VERBOSE,
    Attribute,
    Parameter,
)
from ..._protocol.arguments import Choice, Number

# In the order of the constructors; the classifier has more in between.
KERNEL_PARAMETERS = (
    Parameter("n_landmarks", Number(int, 1, 10**8), "Number of landmarks, and of features."),
    N_COMPONENTS,
    GAMMA,
    BETA.described(BETA.text + "  The posterior is proportional to exp(-beta sqrt(n) loss), where n is the sum of the "
                   "sample weights."),
)
LANDMARKS = Parameter("landmarks", Choice(("random", "kmeans")),
                      "Rows drawn with replacement, or k-means centers, equally many for each class and computed from "
                      "at most 16384 of its rows.")
TELLING = VERBOSE.described("Print lines on stderr about landmarks, features and machines, at most one a second; 0 for "
                            "none.")
KERNEL_ATTRIBUTES = (
    Attribute("landmarks_", "array of shape (n_landmarks, n_features)", "In feature units; not kept in model files."),
    N_COMPONENTS_,
    N_FEATURES_IN_,
)
