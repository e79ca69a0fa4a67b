"""Instruction-set levels against each other, and what chooses among them."""

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.packing import DTYPES, Problem
from test_boosting_kernels import search_phase
from test_column_kernels import Columns
from test_descent_kernels import objective
from test_landmark_kernels import Landmark
from test_posterior_kernels import agreements
from helpers.rffnet_steps import Steps
from test_svm import problem as svm_problem

from rffkern import FourierExpansion, InvalidInputError, KernelExpansion, show_config
from rffkern._kernels import simd
from rffkern._pbrff import linear_svm as _svm

AGREEMENT = {np.float32: 1e-6, np.float64: 1e-12}


def answers(dtype, weighted):
    """What every kernel says of one problem, each relative to its own scale."""
    problem = Problem(3, 5000, 21, dtype, weighted, spread=0.3, n_components=7)
    loss, gradient = objective(problem, problem.omega, 0.1)
    total, agreeing = problem.margins.agreement(problem.cosine)
    found = {"loss": loss, "gradient": gradient / np.linalg.norm(gradient), "agreement": agreeing / total,
             "total": total / 5000, "h": problem.flat(problem.rows.h)}
    problem.margins.boost(0.4)
    found |= {"residuals": problem.y_tilde / problem.margins.largest_residual, "boosted loss": problem.margins.loss}
    problem.margins.largest_residual = 64.0  # as if some were held to the bound
    total, agreeing = problem.margins.agreement(problem.cosine)
    found["unbounded agreement"] = agreeing / total
    found["phase"] = search_phase(problem)
    landmark = Landmark(problem, "squared")
    value, gradient = landmark.objective(np.full(21, 0.1))
    found |= {"landmark loss": value, "landmark gradient": gradient, "waves": landmark.waves,
              "component losses": landmark.component_losses(problem.phases)}
    product, square = problem.residuals.agreement(problem.cosines)
    found |= {"product": product / 5000, "square": square / 5000, "cosines": problem.flat(problem.rows.h)}
    problem.residuals.boost(0.4)
    found |= {"residual loss": problem.residuals.loss, "agreements": agreements(problem, np.array([0]), 7) / 5000}
    features, sign, bound = svm_problem(1, 700, 40, dtype)
    machine = _svm.fit_machine(features, sign, bound, True, 1e-12 if dtype is np.float64 else 1e-6, 1, 1)
    found["machine"] = machine.coef * (1e-2 if dtype is np.float32 else 1e-5)  # the gap bounds its square
    rng = np.random.default_rng(0)
    expansion = FourierExpansion(rng.standard_normal((70, 21)) / 5, rng.uniform(-3, 3, 70), np.full((70, 1), 1 / 70),
                                 [0.0], np.zeros(21))
    X = problem.X[:300].astype(dtype)
    columns = Columns(4, 3000, 5, 7, dtype, weighted)
    found |= {"correlations": columns.correlations() / 3000, "column": columns.filled() / 10,
              "products": columns.products() / 3000, "shifted": columns.shrunk(np.ones(4))[1]}
    bumps = KernelExpansion(rng.standard_normal((70, 21)), np.full((70, 1), 1 / 70), [0.0], np.full(21, 0.2))
    found["kernel scores"] = bumps.score(X)
    network = Steps(6, 300, 21, 50, "logistic", dtype, weighted, 100, "alternating")
    found["coefficients"], found["relevances"] = (0.1 * values for values in network.taken())
    return found | {"scores": expansion.score(X), "few scores": expansion.score(X[:3])}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_levels_agree(level, dtype, weighted):
    found = answers(dtype, weighted)
    simd.select("baseline")
    for name, expected in answers(dtype, weighted).items():
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=AGREEMENT[dtype], err_msg=name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n_terms", "n_outputs", "n_features"), [(1, 1, 1), (5, 3, 7), (70, 4, 33), (300, 1, 150)])
def test_a_row_alone_has_the_bits_it_has_among_others(level, dtype, n_terms, n_outputs, n_features):
    rng = np.random.default_rng(n_terms)
    amplitudes = rng.standard_normal((n_terms, n_outputs)) * (rng.random((n_terms, n_outputs)) < 0.6)
    expansion = FourierExpansion(rng.standard_normal((n_terms, n_features)), rng.uniform(-3, 3, n_terms), amplitudes,
                                 rng.standard_normal(n_outputs), rng.standard_normal(n_features))
    X = rng.standard_normal((200, n_features)).astype(dtype)
    together = expansion.score(X)
    for size in (1, 3, 7, 8, 33):
        np.testing.assert_array_equal(np.vstack([expansion.score(X[i : i + size]) for i in range(0, 200, size)]),
                                      together)


def run(program, tmp_path, level):
    return subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=os.environ | {"RFFKERN_SIMD": level},
                          capture_output=True, text=True, check=False)


@pytest.mark.parametrize("level", simd.LEVELS)
def test_the_environment_chooses(tmp_path, level):
    done = run("import rffkern; rffkern.show_config(); print(rffkern.show_config('dicts')['simd'])", tmp_path, level)
    assert done.stdout.splitlines()[-1] == level
    assert f"instruction set: {level} " in done.stdout


def test_a_level_that_is_not_there_is_refused(tmp_path):
    done = run("import rffkern", tmp_path, "x86-64-v9")
    assert done.returncode == 1
    assert "ImportError: the environment variable RFFKERN_SIMD: level must be one of ('baseline'" in done.stderr


def test_show_config(capsys):
    config = show_config("dicts")
    assert config["simd"] == simd.selected()
    assert config["openmp"] is simd.HAS_OPENMP
    assert config["threads"] >= 1
    assert show_config() is None
    assert config["rffkern"] in capsys.readouterr().out
    with pytest.raises(InvalidInputError, match="mode must be one of 'stdout', 'dicts', got 'json'"):
        show_config("json")
