"""Hashes of what short trainings of every family give, by class, at the level that is selected."""

import hashlib
import json

import numpy as np

from helpers.families import known
from rffkern._estimator.registry import FAMILIES
from rffkern._estimator.tasks import Regressor

SHORT = {"n_estimators": 5, "n_bags": 2, "n_landmarks": 8, "max_epochs": 2, "basis_size": 6, "columns": None}
GIVEN = {"kernel": {"length_scale": 1.5}, "reg_lambda": 0.1}  # of sparse machines, whose choice of a kernel takes long
_RNG = np.random.default_rng(3)
ROWS = _RNG.standard_normal((400, 6))
TARGET = np.sin(2 * ROWS[:, 0]) + ROWS[:, 1] * ROWS[:, 2]


def short_model(family, precision):
    """A trained model of few terms; a family without a choice of precision has its own.

    Kernel ridge regression learns of fewer rows, as it chooses length scales of which each takes n^3 operations.
    """
    n_rows = 120 if known(family, region_size=None) else len(ROWS)
    short = known(family, **SHORT, precision=precision) | (GIVEN if known(family, basis_size=6) else {})
    target = TARGET if issubclass(family, Regressor) else TARGET > 0
    return family(random_state=0, **short).fit(ROWS[:n_rows], target[:n_rows])


def model_bits(model):
    """The bits of a trained function."""
    return b"".join(array.tobytes() for array in model.expansion_.arrays().values())


def score_bits(model):
    """The bits of its scores, of few rows and of many, in both precisions."""
    return b"".join(model.expansion_.score(ROWS[:n].astype(dtype)).tobytes()
                    for n in (3, 400) for dtype in (np.float64, np.float32))


def training_hashes():
    """A hash of the functions that each class learns, in both precisions."""
    return {name: hashlib.sha256(b"".join(model_bits(short_model(entry.load(), precision))
                                          for precision in ("single", "double"))).hexdigest()
            for name, entry in FAMILIES.items()}


if __name__ == "__main__":
    print(json.dumps(training_hashes()))
