"""Every kernel at every instruction-set level of this machine against the baseline."""

import numpy as np
import pytest
from helpers import boost_trees
from helpers.columns import Columns
from helpers.expansions import fourier_expansion, kernel_expansion
from helpers.landmark import Landmark, cosine_sums, omega_objective, phase_loss, search_phase
from helpers.packing import DTYPES, Problem
from helpers.rffnet_steps import Steps
from reference import n_leaves

from rffkern import Expansion, TreeTerms
from rffkern._native import pbrff, simd

AGREEMENT = {np.float32: 1e-6, np.float64: 1e-12}


def boosting(dtype, weighted):
    problem = Problem(3, 5000, 21, dtype, weighted, spread=0.3, n_components=7)
    loss, gradient = omega_objective(problem, problem.omega, 0.1)
    total, agreement = problem.margins.apply(problem.cosine)
    found = {"loss": loss, "gradient": gradient / np.linalg.norm(gradient), "weighted product": agreement / total,
             "total": total / 5000, "h": problem.flat(problem.rows.h)}
    problem.margins.boost(0.4)
    found |= {"residuals": problem.y_tilde / problem.margins.largest_residual, "boosted loss": problem.margins.loss}
    problem.margins.largest_residual = 64.0  # as if some were held to the bound
    total, agreement = problem.margins.apply(problem.cosine)
    # The loss, not the phase: near its minimum single precision cannot tell phases apart that differ by some 1e-4.
    found |= {"unbounded product": agreement / total, "loss at the phase": phase_loss(problem, search_phase(problem))}
    product, square = problem.residuals.apply(problem.cosines)
    found |= {"product": product / 5000, "square": square / 5000, "cosines": problem.flat(problem.rows.h)}
    problem.residuals.boost(0.4)
    return found | {"residual loss": problem.residuals.loss}


def landmarks(dtype, weighted):
    problem = Problem(3, 5000, 21, dtype, weighted, spread=0.3, n_components=7)
    landmark = Landmark(problem, "squared")
    value, gradient = landmark.objective(np.full(21, 0.1))
    return {"landmark loss": value, "landmark gradient": gradient, "random Fourier features": landmark.rff,
            "component losses": landmark.component_losses(problem.phases),
            "sums of cosines": cosine_sums(problem, np.array([0]), 7) / 5000}


def machines(dtype, weighted):
    rng = np.random.default_rng(1)
    features = rng.standard_normal((700, 48)).astype(dtype)
    alpha, coef, scores = rng.uniform(0, 1 / 700, 700), np.empty(48), np.empty(700)
    pbrff.combine_rows(features, alpha, coef, np.empty((1, 48)), 1)
    pbrff.project_rows(features, coef, scores, 1)
    gram = np.empty((1, 48, 48))
    pbrff.weighted_gram(features, alpha, gram, np.zeros((1, pbrff.gram_scratch(48))), 1)
    columns = Columns(4, 3000, 5, 7, dtype, weighted)
    return {"combined rows": coef, "scores": scores, "gram": np.tril(gram[0]) / 5,
            "correlations": columns.correlations()[0] / 3000, "column": columns.filled() / 10,
            "products": columns.products() / 3000, "shifted": columns.shrunk(np.ones((1, 4)))[1]}


def scores(dtype, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 21)).astype(dtype)
    cosines = fourier_expansion(rng.standard_normal((70, 21)) / 5, rng.uniform(-3, 3, 70), np.full((70, 1), 1 / 70),
                               [0.0], np.zeros(21))
    bumps = kernel_expansion(rng.standard_normal((70, 21)), np.full((70, 1), 1 / 70), [0.0], np.full(21, 0.2))
    coefficients, relevances = Steps(6, 300, 21, 50, "logistic", dtype, weighted, 100).taken()
    peaks = kernel_expansion(bumps.kernels.centers, bumps.kernels.weights, [0.0], np.full(21, 0.2), [1.0])
    return {"scores": cosines.score(X), "peak scores": peaks.score(X),
            "few scores": cosines.score(X[:3]), "kernel scores": bumps.score(X),
            "coefficients": 0.1 * coefficients, "relevances": 0.1 * relevances}


def trees(dtype, weighted):
    problem = boost_trees.Problem(3, 5000, n_outputs=2, most_bins=255, weighted=weighted)
    tree = problem.grow(5)
    rng = np.random.default_rng(0)
    columns, thresholds = rng.integers(0, 21, (100, 6)), rng.standard_normal((100, 6)).round(1)
    part = TreeTerms(columns, thresholds, rng.standard_normal((sum(n_leaves(columns, thresholds)), 2)))
    random, X = Expansion(np.zeros(2), np.zeros(21), part), rng.standard_normal((300, 21)).astype(dtype)
    return {"columns": tree.columns, "threshold_bins": tree.threshold_bins, "gains": tree.gains / 5000,
            "values": tree.values, "tree": boost_trees.evaluate(problem.binned, tree),
            "scores of trees": random.score(X) / 100}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("answers", [boosting, landmarks, machines, scores, trees])
def test_levels_agree(level, answers, dtype, weighted):
    found = answers(dtype, weighted)
    simd.select("baseline")
    for name, expected in answers(dtype, weighted).items():
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=AGREEMENT[dtype], err_msg=name)
