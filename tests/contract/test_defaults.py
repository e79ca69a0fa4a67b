"""Default parameters and what parameters may be: users depend on both, so that neither changes unnoticed."""

import inspect
import re

import pytest

from rffkern import InvalidInputError
from rffkern._estimator.registry import FAMILIES

SHARED = {"standardize": True, "precision": "single", "columns": "auto", "random_state": None, "n_jobs": None}
ROUNDS = SHARED | {"gamma": "scale", "kernel": "gaussian", "learning_rate": 1.0, "max_iter": 10,
                   "max_samples": 16384, "verbose": 0, "early_stopping_rounds": 20, "validation_fraction": None,
                   "warm_start": False, "max_seconds": None}
GBRFF = ROUNDS | {"n_estimators": 200, "n_components": 100, "beta": 16.0, "landmarks": "learn",
                  "scale_residuals": True, "learning_rate": 0.1}
LANDMARKS = SHARED | {"n_landmarks": 100, "n_components": 10, "gamma": "scale", "kernel": "gaussian", "beta": 1.0,
                      "landmarks": "random", "verbose": 0}
RFFNET = SHARED | {
    "n_components": None, "kernel": "gaussian", "learning_rate": 0.03, "reg_lambda": "auto",
    "reg_l1": 0.0, "batch_size": 32, "max_epochs": 300, "early_stopping_rounds": 10, "validation_fraction": 0.1,
    "n_restarts": None, "warm_start": False, "max_seconds": None, "verbose": 0}
SPARSE = {
    "n_estimators": 500, "basis_size": 50, "max_samples": 500, "selection": "max-res", "update": "full",
    "kernel": "auto", "reg_lambda": "auto", "early_stopping_rounds": 20, "validation_fraction": None,
    "warm_start": False, "max_seconds": None, "columns": "auto", "random_state": None, "n_jobs": None, "verbose": 0}
KERNEL_RIDGE = SHARED | {
    "kernel": "exponential", "length_scale": "auto", "reg_lambda": "auto", "region_size": "auto",
    "n_landmarks": 512, "cache_size": 512, "tol": 1e-3, "max_iter": 500, "verbose": 0}
BOOSTING = {
    "kernel_ridge": "auto",
    "n_estimators": 3000, "n_bags": None, "learning_rate": "auto",
    "base_learners": ("fourier", "tree"), "monotone_constraints": None, "interaction_constraints": None,
    "max_samples": 8192, "early_stopping_rounds": "auto",
    "validation_fraction": "auto", "validation": "random", "warm_start": False, "max_seconds": None,
    "columns": "auto", "random_state": None, "n_jobs": None, "verbose": 0}
DEFAULTS = {
    "fourier_boosting": BOOSTING | {"class_weight": None},
    "fourier_boosting_regressor": BOOSTING | {
        "base_learners": ("fourier", "tree", "linear"), "loss": "squared_error", "quantile": 0.5, "power": 1.5},
    "gbrff": GBRFF | {"class_weight": None},
    "gbrff1": ROUNDS | {"n_estimators": 100, "n_components": 10, "beta": 1.0, "landmarks": "learn", "step": "closed",
                       "class_weight": None},
    "gbrff2": ROUNDS | {"n_estimators": 100, "reg_lambda": 0.03125, "class_weight": None},
    "gbrff_regressor": GBRFF | {"learning_rate": 0.5},
    "kernel_ridge": KERNEL_RIDGE | {"class_weight": None},
    "kernel_ridge_regressor": KERNEL_RIDGE,
    "pbrff": LANDMARKS | {"C": 1.0, "loss": "squared_hinge", "tol": 1e-4, "class_weight": None},
    "pbrff_transformer": LANDMARKS,
    "rffnet": RFFNET | {"class_weight": None},
    "rffnet_regressor": RFFNET | {"loss": "squared_error", "delta": 1.35, "quantile": 0.5},
    "sparse_kernel": SPARSE | {"class_weight": None},
    "sparse_kernel_regressor": SPARSE,
}


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_defaults(name):
    family = FAMILIES[name].load()
    assert {key: value.default for key, value in inspect.signature(family).parameters.items()} == DEFAULTS[name]
    assert family().get_params() == DEFAULTS[name]


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_fit_checks_every_parameter(name):
    family = FAMILIES[name].load()
    for parameter in DEFAULTS[name]:
        with pytest.raises(InvalidInputError, match=f"^{parameter} must be"):
            family(**{parameter: object()}).fit([[0.0], [1.0]], [0, 1])


# Smallest and largest value; None for any number.
INTEGERS = {
    "n_estimators": (1, 10**8), "n_components": (1, 10**6), "n_landmarks": (1, 10**8), "batch_size": (1, 65536),
    "max_epochs": (1, 10**8), "n_restarts": (1, 10**6), "basis_size": (1, 10**6),
    "early_stopping_rounds": (1, None),
    "n_bags": (1, 1000), "max_iter": (0, 10**6), "max_samples": (128, None), "verbose": (0, None),
    "cache_size": (0, 10**8), "region_size": (10, 10**8)}
# Values that are accepted, and values that are not.
REALS = {
    "gamma": ((5e-324, 1e100), (0, 1.1e100)), "beta": ((0, 1e100), (-5e-324, 1.1e100)),
    "max_seconds": ((5e-324, 1e9), (0, 1.1e9)), "C": ((5e-324, 1e6), (0, 1.1e6)),
    "learning_rate": ((5e-324, 1), (0, 1.1)), "tol": ((1e-12, 1), (0.9e-12, 1.1)),
    "delta": ((5e-324, 1e10), (0, 1.1e10)), "quantile": ((1e-6, 1 - 1e-6), (0.9e-6, 1 - 0.9e-6)),
    "power": ((1.01, 1.99), (1.0, 2.0)),
    "reg_l1": ((0, 1e10), (-5e-324, 1.1e10)), "validation_fraction": ((0, 0.9), (-5e-324, 0.91))}
VALIDATION_FRACTION = {"_training.fourier_boosting": ((1e-6, 0.5), (0.9e-6, 0.51)),
                       "_training.gbrff": ((5e-324, 0.9), (0, 0.91)),
                       "_training.sparse_kernel": ((5e-324, 0.9), (0, 0.91))}
REG_LAMBDA = {"gbrff2": ((0, 1e150), (-5e-324,)), "_training.rffnet": ((0, 1e10), (-5e-324, 1.1e10)),
              "_training.kernel_ridge": ((5e-324, 1e100), (0, 1.1e100)),
              "_training.sparse_kernel": ((5e-324, 1e100), (0, 1.1e100))}
OPTIONAL = ("n_bags", "max_samples", "early_stopping_rounds", "n_restarts", "max_seconds",
            "region_size")


NUMBER = re.compile(r'("\w+" or )?(int|float)( >=? \S+| in [\[(]\S+ \S+\])?( or None)?')  # of a domain


def refused(check, name, value):
    try:
        check(name, value)
    except InvalidInputError:
        return True
    return False


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_bounds(name):
    """Numbers are accepted at their bounds and refused beyond them."""
    entry = FAMILIES[name]
    for parameter, check, *_ in entry.load()._parameters:
        if not NUMBER.fullmatch(check.domain):
            assert "several" in check.domain or parameter not in INTEGERS.keys() | REALS.keys(), parameter
            continue
        if parameter in INTEGERS:
            low, high = (1, None) if parameter == "max_samples" and name.startswith("sparse") else INTEGERS[parameter]
            good, bad = [low, high or 10**12], [low - 1, -1, *([high + 1] if high else [])]
        else:
            own = {"reg_lambda": REG_LAMBDA, "validation_fraction": VALIDATION_FRACTION}.get(parameter, {})
            good, bad = own.get(name) or own.get(entry.module.rpartition(".")[0]) or REALS[parameter]
        assert not [value for value in good if refused(check, parameter, value)], parameter
        assert not [value for value in bad if not refused(check, parameter, value)], parameter
        optional = parameter in OPTIONAL or (
            parameter == "validation_fraction"
            and entry.module.startswith(("_training.gbrff", "_training.sparse_kernel"))) or (
            parameter == "n_components" and entry.module.startswith("_training.rffnet"))
        assert refused(check, parameter, None) != optional, parameter
