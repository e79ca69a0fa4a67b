"""What `bench.py` compares in training GBRFF2, and the data for it."""

import numpy as np
from common import contenders

from gbrff.twin import PhaseTwin

N_ESTIMATORS, N_FEATURES = 100, 20


def make_data(n_samples, n_features=N_FEATURES):
    """Rows of normal clusters, and labels -1 and +1."""
    from sklearn.datasets import make_classification

    X, y = make_classification(n_samples, n_features, n_redundant=min(2, n_features - 2), random_state=0)
    return X, np.where(y > 0, 1.0, -1.0)


def rffkern_model(n_estimators=N_ESTIMATORS, **params):
    """GBRFF2 with the settings of the twin."""
    from rffkern import GBRFF2Classifier

    params = {"gamma": 1 / N_FEATURES, "reg_lambda": 0, "standardize": False, "max_samples": None, "n_jobs": 1,
              "random_state": 0} | params
    return GBRFF2Classifier(n_estimators, **params)


CONTENDERS = {
    "rffkern": rffkern_model,
    "rffkern double": lambda: rffkern_model(precision="double"),
    "rffkern subsets": lambda: rffkern_model(max_samples=8192),
    "twin": lambda: PhaseTwin(N_ESTIMATORS),
    "lightgbm": lambda: contenders.lightgbm_model(N_ESTIMATORS),
    "xgboost": lambda: contenders.xgboost_model(N_ESTIMATORS),
    "hist boosting": lambda: contenders.hist_gradient_boosting(N_ESTIMATORS),
    "rbf + logistic": lambda: contenders.sampler_and_logistic(N_ESTIMATORS, 1 / N_FEATURES),
    "svc": lambda: contenders.support_vectors(1 / N_FEATURES),
}

# Power of n by which the time of a contender grows, to tell beforehand what would take too long.
GROWTH = {"svc": 2}


def twin_rounds(n_samples):
    """Rounds of the twin to measure on so many rows; its time is then scaled to N_ESTIMATORS."""
    return N_ESTIMATORS if n_samples < 100_000 else 5 if n_samples < 500_000 else 2
