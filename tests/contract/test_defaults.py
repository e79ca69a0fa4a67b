"""Default parameters: results that users have depend on them, so that none changes unnoticed."""

import inspect

import pytest

from rffkern._estimator.registry import FAMILIES

SHARED = {"standardize": True, "precision": "single", "random_state": None, "n_threads": None}
ROUNDS = SHARED | {"gamma": "scale", "learning_rate": 1.0, "max_iter": 10, "max_samples": 16384, "verbose": 0,
                   "early_stopping_rounds": 20}
GBRFF = ROUNDS | {"n_estimators": 200, "n_components": 100, "beta": 16.0, "landmarks": "learn",
                  "scale_residuals": True, "learning_rate": 0.1}
LANDMARKS = SHARED | {"n_landmarks": 100, "n_components": 10, "gamma": "scale", "beta": 1.0, "landmarks": "random"}
RFFNET = SHARED | {
    "n_components": None, "kernel": "gaussian", "solver": "alternating", "learning_rate": 0.03, "reg_lambda": "auto",
    "reg_l1": 0.0, "batch_size": 32, "max_epochs": 300, "early_stopping_rounds": 10, "validation_fraction": 0.1,
    "n_restarts": None, "warm_start": False, "verbose": 0}
SPARSE = SHARED | {
    "n_estimators": 500, "learner_size": 50, "subset_size": 500, "selection": "max-res", "n_candidates": 60,
    "update": "full", "group_size": 50, "kernel": "auto", "reg_lambda": "auto", "early_stopping_rounds": 20,
    "precision": "double", "verbose": 0}
DEFAULTS = {
    "gbrff": GBRFF,
    "gbrff1": ROUNDS | {"n_estimators": 100, "n_components": 10, "beta": 1.0, "landmarks": "learn", "step": "closed"},
    "gbrff2": ROUNDS | {"n_estimators": 100, "reg_lambda": 0.03125},
    "gbrff_regressor": GBRFF | {"learning_rate": 0.5},
    "pbrff": LANDMARKS | {"C": 1.0, "loss": "squared_hinge", "tol": 1e-4},
    "pbrff_transformer": LANDMARKS,
    "rffnet": RFFNET,
    "rffnet_regressor": RFFNET | {"loss": "squared", "delta": 1.35, "quantile": 0.5},
    "sparse_kernel": SPARSE | {"all_rows": True},
    "sparse_kernel_regressor": SPARSE,
}


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_defaults(name):
    family = FAMILIES[name].load()
    assert {key: value.default for key, value in inspect.signature(family).parameters.items()} == DEFAULTS[name]
    assert family().get_params() == DEFAULTS[name]
