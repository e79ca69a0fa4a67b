"""What is rebuilt of a model file, and which contents contradict each other."""

import numpy as np
import pytest
from helpers.expansions import kernel_expansion

from rffkern import SparseKernelRegressor

# Five rounds of two basis vectors each, for three columns.
CURVES = {"train_loss_": np.array([5.0, 4.0, 3.0, 2.5, 2.0, 1.5]),
          "eval_loss_": np.array([5.0, 4.0, 3.5, 3.0, 3.1, 3.0]),
          "kernel_parameters_": np.array([0.1, 1.0, 0.0, 1.0, 2.0, 3.0])}


def restore(n_terms=6, n_outputs=1, params=None, **changed):
    model = SparseKernelRegressor(5, basis_size=2, **(params or {}))
    expansion = kernel_expansion(np.ones((n_terms, 3)), np.ones((n_terms, n_outputs)), np.zeros(n_outputs), np.ones(3))
    return model._restored(expansion, CURVES | {name: np.asarray(value) for name, value in changed.items()})


def with_parameter(index, value):
    parameters = CURVES["kernel_parameters_"].copy()
    parameters[index] = value
    return parameters


def test_the_round_of_lowest_evaluation_loss_is_the_last():
    assert restore() == {"n_estimators_": 3}
    assert restore(10, eval_loss_=[]) == {"n_estimators_": 5}
    assert restore(6, n_outputs=2) == {"n_estimators_": 3}
    assert restore(0, train_loss_=[5.0], eval_loss_=[]) == {"n_estimators_": 0}


@pytest.mark.parametrize("changed", [
    {"train_loss_": np.ones((6, 1))}, {"train_loss_": []}, {"train_loss_": [], "eval_loss_": []},
    {"eval_loss_": np.ones((6, 1))}, {"eval_loss_": np.ones(5)}, {"eval_loss_": np.ones(7)},
    {"n_terms": 7}, {"n_terms": 11, "eval_loss_": []}, {"n_terms": 7, "n_outputs": 2},
    {"train_loss_": np.ones(7), "eval_loss_": []},
    {"kernel_parameters_": np.ones(5)}, {"kernel_parameters_": np.ones(7)}, {"kernel_parameters_": np.ones((1, 6))},
    *({"kernel_parameters_": with_parameter(index, 0.0)} for index in (0, 1, 3, 4, 5)),
    {"kernel_parameters_": with_parameter(2, -1e-300)},
    {"params": {"kernel": {"length_scale": [1.0, 2.0]}}},
], ids=str)
def test_parts_that_contradict_each_other(changed):
    with pytest.raises(ValueError, match=r"loss curves|centers, rounds|kernel parameters|length_scale"):
        restore(**changed)
