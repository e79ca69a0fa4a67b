"""Rows that every family can learn from, and what the contract asks of a model of any family."""

import numpy as np

from rffkern._estimator.registry import FAMILIES
from rffkern._estimator.tasks import Regressor

X = np.random.default_rng(7).standard_normal((400, 6)) * [1, 10, 1e-3, 1, 1, 1] + [0, 1900, 0, 0, 0, 0]
Y = np.where(np.sin(X[:, 0]) + X[:, 3] > 0, "up", "down")
TARGET = np.sin(X[:, 0]) + 0.5 * X[:, 3]
NAMES = [f"f{j}" for j in range(6)]

# Families that learn in rounds, each of which adds a term or several.
BOOSTED = ("fourier_boosting", "fourier_boosting_regressor", "gbrff", "gbrff1", "gbrff2", "gbrff_regressor",
           "sparse_kernel", "sparse_kernel_regressor")


class Frame:
    """The little of a data frame that is looked at."""

    def __init__(self, array, columns):
        self.array, self.columns = array, columns

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)


def answers(model, rows):
    """What a family gives for rows: scores, predictions or features."""
    name = next(name for name in ("decision_function", "predict", "transform") if hasattr(model, name))
    return getattr(model, name)(rows)


def target_of(family):
    """Labels or targets of `X`, as the family needs them."""
    return TARGET if issubclass(family, Regressor) else Y


def quick(family):
    """Parameters that make a fit short.  Most of the time of a sparse machine goes into learning its kernel.

    Columns are taken as they are, also by families whose default is another.
    """
    if family.__name__.startswith("FourierBoosting"):
        return {"n_estimators": 20, "n_bags": 2, "columns": None, "kernel_ridge": False}
    if family.__name__.startswith("KernelRidge"):
        return {"length_scale": 3.0, "reg_lambda": 0.1}
    return {"kernel": {"length_scale": 3.0}, "n_estimators": 20} if family.__name__.startswith("SparseKernel") else {}


def known(family, **params):
    """Those of some parameters that a family has."""
    return {name: value for name, value in params.items() if name in family._param_names()}


def one_member(family):
    """Parameters with which a model is one sequence of rounds, whatever else a family makes of several."""
    return known(family, n_bags=1)


def staged(family):
    """The method that gives the answers after each round, or None for a family that has none."""
    return getattr(family, "staged_decision_function", None) or getattr(family, "staged_predict", None)


def may_leave_columns(family):
    """Whether columns="auto" leaves complete numeric columns as they are; Fourier boosting maps every table."""
    return family._auto_forms is None


def holds_rows_out(family):
    """Whether `fit` holds out rows by default that no part of the model learns from.

    Each member of an ensemble holds out others, and the map is that of the ensemble.
    """
    return getattr(family(), "validation_fraction", None) is not None and "n_bags" not in family._param_names()


CHOOSING = tuple(name for name, entry in sorted(FAMILIES.items()) if may_leave_columns(entry.load()))
STAGED = tuple(name for name in BOOSTED if staged(FAMILIES[name].load()))


def fit(family, rows=X, target=None, weight=None, **params):
    """A model of a family, trained with seed 0."""
    params = {"random_state": 0} | quick(family) | params
    return family(**params).fit(rows, target_of(family) if target is None else target, weight)


def same_state(a, b):
    """Whether two models are the same function, to the last bit."""
    return all(np.array_equal(x, y) for x, y in zip(a.expansion_.arrays().values(), b.expansion_.arrays().values(),
                                                    strict=True))


# Families whose training goes on, and what of it a model keeps.
RESUMABLE = sorted(name for name, entry in FAMILIES.items()
                   if {"warm_start", "n_estimators"} <= set(entry.load()._param_names()))
CURVES = ("train_loss_", "eval_loss_", "feature_importances_", "landmarks_")


def resumable(cls, n_rounds=9, **params):
    """A small model of such a family, of nine rounds unless others are asked for."""
    return cls(**{"random_state": 5, "warm_start": True} | quick(cls) | known(cls, n_components=4)
               | {"n_estimators": n_rounds} | params)


def same_training(one, other):
    """Whether two trainings have left the same, to the last bit."""
    return same_state(one, other) and all(np.array_equal(getattr(one, name, None), getattr(other, name, None))
                                          for name in CURVES)
