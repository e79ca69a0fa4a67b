"""Every kernel refuses arrays that are too short, numbers out of range and indices beyond the rows.

Release builds run without bounds checks: what is not refused here would be read beyond its end.
"""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from helpers.boost_trees import grow_arguments, leaf_arguments

from rffkern import _native
from rffkern._native import boosting, explain, gbrff, pbrff, rffnet, scoring, simd, solvers, sparse

TILE, LANES, TERMS = scoring.TILE_ROWS, scoring.LANE_COUNT, scoring.TERM_MULTIPLES[0]
N_TILES, N_FEATURES, N_COMPONENTS = 4, 3, 2


def tiled(n_tiles=N_TILES, dtype=np.float64):
    return np.ones((n_tiles, TILE), dtype)


def omega_arguments(real):
    return {"tiles": np.ones((N_TILES, N_FEATURES, TILE), real), "r2": tiled(dtype=real), "weight": tiled(dtype=real),
            "omega": np.ones(N_FEATURES), "phase": 0.1, "reg_lambda": 0.0, "total_weight": 512.0,
            "scaled": np.ones(N_FEATURES, real), "lanes": np.zeros((1, N_FEATURES * LANES), real),
            "partial": np.ones((1, 1 + N_FEATURES)), "n_threads": 1}


def omega_objective(real):
    return omega_arguments(real) | {"gradient": np.ones(N_FEATURES)}


def descend_omega(real):
    return omega_arguments(real) | {"search": solvers.LBFGS(N_FEATURES, 3, 1e-9, 1e-5, 1e-6), "first_length": 1.0}


def search_phase(real):
    arguments = omega_arguments(real)
    kept = {name: arguments[name] for name in ("tiles", "r2", "weight", "omega", "total_weight", "scaled", "n_threads")}
    return kept | {"largest_residual": 1.0, "a": tiled(dtype=real), "b": tiled(dtype=real),
                   "circle": np.ones((2, 32), real), "partial": np.ones((1, 64))}


def make_rff(real):
    return {"tiles": np.ones((N_TILES, N_FEATURES, TILE), real), "omegas": np.ones((N_COMPONENTS, N_FEATURES)),
            "rff": np.ones((N_TILES, 2 * N_COMPONENTS, TILE), real), "scaled": np.ones((TERMS, N_FEATURES), real),
            "n_threads": 1}


def landmark_arguments(real):
    return {"rff": np.ones((N_TILES, 2 * N_COMPONENTS, TILE), real), "r": tiled(dtype=real),
            "weight": tiled(dtype=real), "basis": np.ones((N_FEATURES, LANES)), "x": np.ones(N_FEATURES),
            "total_weight": 512.0, "u": np.ones(LANES), "direction": np.ones(2 * N_COMPONENTS, real),
            "lanes": np.zeros((1, 2 * N_COMPONENTS * LANES), real), "partial": np.ones((1, 1 + 2 * N_COMPONENTS)),
            "n_threads": 1} | OF_LOSS


OF_LOSS = {"is_squared": True}


def landmark_objective(real):
    return landmark_arguments(real) | {"gradient": np.ones(N_FEATURES)}


def descend_landmark(real):
    return landmark_arguments(real) | {"search": solvers.LBFGS(N_FEATURES, 3, 1e-9, 1e-5, 1e-6), "first_length": 1.0}


def component_losses(real):
    arguments = landmark_arguments(real)
    for name in ("basis", "x", "lanes"):
        del arguments[name]
    return arguments | {"u": np.ones(N_COMPONENTS), "losses": np.ones(N_COMPONENTS),
                        "partial": np.ones((1, N_COMPONENTS))}


def learner_arguments(real):
    return {"tiles": np.ones((N_TILES, N_FEATURES, TILE), real), "weight": tiled(dtype=real),
            "omegas": np.ones((N_COMPONENTS, N_FEATURES)), "phases": np.ones(N_COMPONENTS),
            "posterior": np.ones(N_COMPONENTS), "h": tiled(dtype=real),
            "terms": np.ones(gbrff.terms_size(N_COMPONENTS, N_FEATURES), real), "partial": np.ones((1, 2)),
            "n_threads": 1}


def apply_exponential(real):
    return learner_arguments(real) | {"raw_prediction": tiled(), "y": tiled(dtype=real), "r2": tiled(dtype=real),
                                      "bounded": False}


def apply_squared(real):
    return learner_arguments(real) | {"r": tiled(dtype=real)}


def loss_along_step(real):
    return {"raw_prediction": tiled(), "y": tiled(dtype=real), "weight": tiled(dtype=real), "h": tiled(dtype=real),
            "step": 0.1, "partial": np.ones((1, 3)), "n_threads": 1}


def boost_rows(real):
    return loss_along_step(real) | {"r2": tiled(dtype=real), "partial": np.ones((1, 2))}


def shrink_rows(real):
    return {"residual": tiled(), "weight": tiled(dtype=real), "h": tiled(dtype=real), "step": 0.1,
            "r": tiled(dtype=real), "partial": np.ones((1, 1)), "n_threads": 1}


def factorise(real):
    return {"matrix": np.eye(5), "scratch": np.ones((1, solvers.factor_scratch(5))), "n_threads": 1}


def add_products(real):
    return {"rows": np.ones((6, 3)), "first": 0, "last": 6, "factor": 1.0, "matrix": np.ones((8, 7)), "offset": 2,
            "scratch": np.ones((1, solvers.factor_scratch(3))), "n_threads": 1}


def extend(real):
    return {"factor": np.eye(5), "size": 4, "smallest": 1e-9}


def solve_factorised(real):
    return {"factor": np.eye(5), "x": np.ones(5)}


def svm_arguments(real, *names):
    n_samples = 6
    every = {"features": np.ones((n_samples, LANES), real), "factor": np.ones(n_samples), "coef": np.ones(LANES),
             "scores": np.ones(n_samples), "scale": np.ones(n_samples), "n_threads": 1}
    return {name: every[name] for name in ("features", *names)}


def combine_rows(real):
    return svm_arguments(real, "factor", "coef", "n_threads") | {"partial": np.ones((1, LANES))}


def project_rows(real):
    return svm_arguments(real, "coef", "scores", "n_threads")


def weighted_gram(real):
    return svm_arguments(real, "scale", "n_threads") | {
        "partial": np.ones((1, LANES, LANES)), "scratch": np.zeros((1, pbrff.gram_scratch(LANES)))}


def column_range(real):
    return {"X": np.ones((scoring.STRIP_ROWS + 1, 2), real), "low": np.ones((2, 2)), "high": np.ones((2, 2)),
            "n_threads": 1}


def column_moments(real):
    return {"X": np.ones((scoring.STRIP_ROWS + 1, 2), real), "unit": np.ones(2), "center": np.ones(2),
            "weight": np.ones(scoring.STRIP_ROWS + 1), "power": 2, "partial": np.ones((2, 2)), "n_threads": 1}


def pack_rows(real):
    return {"X": np.ones((TILE + 1, 2)), "order": np.arange(TILE + 1), "center": np.ones(2),
            "inverse_scale": np.ones(2), "tiles": np.ones((2, 2, TILE), real), "lengths": np.ones(2), "n_threads": 1}


def weighted_cosines(real):
    return {"tiles": np.ones((N_TILES, N_FEATURES, TILE), real), "targets": np.ones((2, N_TILES, TILE), real),
            "group": np.array([0, 1]), "omegas": np.ones((8, N_FEATURES), real), "shifts": np.ones(8, real),
            "n_components": 3, "sums": np.ones(6), "partial": np.ones((1, 6)), "n_threads": 1}


def landmark_features(real):
    return {"tiles": np.ones((2, N_FEATURES, TILE), real), "omegas": np.ones((13, N_FEATURES), real),
            "shifts": np.ones(13, real), "posterior": np.ones((2, 5), real), "out": np.ones((TILE + 1, 2), real),
            "scratch": np.ones((1, 2 * TILE), real), "n_threads": 1}


def train_rows(real):
    n_samples, n_outputs, padded_terms, batch_size = 200, 2, rffnet.TERM_GROUP, 150
    sizes = rffnet.scratch_sizes(N_FEATURES, padded_terms, n_outputs, batch_size)
    return {"loss": rffnet.Squared(), "X": np.ones((n_samples, N_FEATURES)), "order": np.arange(n_samples),
            "center": np.zeros(N_FEATURES), "inverse_scale": np.ones(N_FEATURES),
            "targets": np.ones((n_samples, n_outputs)), "weight": np.ones(n_samples),
            "omegas": np.ones((padded_terms, N_FEATURES), real), "groups": np.ones((1, TERMS, padded_terms), real),
            "shifts": np.ones(padded_terms, real), "coefficients": np.ones((3, n_outputs, padded_terms), real),
            "relevances": np.ones((3, N_FEATURES), real), "n_terms": 9, "batch_size": batch_size, "n_steps": 0.0,
            "coefficient_rate": 0.1, "constant_rate": 0.1, "relevance_rate": 0.1, "ridge": 0.0, "lasso": 0.0,
            "work": np.ones((2, sizes[0]), real), "sums": np.ones((2, sizes[1])), "n_threads": 1}


def row_losses(real):
    return {"loss": rffnet.Squared(), "scores": np.ones((5, 2)), "targets": np.ones((5, 2)),
            "losses": np.ones(5), "gradient": np.ones((5, 2))}


def correlate_centers(real):
    return {"tiles": np.ones((N_TILES, N_FEATURES, TILE), real), "centers": np.ones((8, N_FEATURES), real),
            "shifts": np.ones(8, real), "v": np.ones((2, N_TILES, TILE)), "kernels": np.ones((N_TILES, 8, TILE), real),
            "partial": np.ones((1, 16)), "sums": np.ones((2, 8)), "shape": 1, "n_threads": 1}


def take_tiles(real):
    return {"tiles": np.ones((N_TILES, N_FEATURES, TILE), real), "rows": np.arange(N_TILES * TILE)[-TILE - 3:],
            "n_features": N_FEATURES, "taken": np.empty((2, N_FEATURES, TILE))}


def combine_kernels(real):
    return {"kernels": np.ones((N_TILES, 8, TILE), real), "weights": np.ones((2, 8)), "constants": np.ones(2),
            "columns": np.ones((2, N_TILES, TILE), real), "start": 0, "n_threads": 1}


def fill_columns(real):
    return {"tiles": np.ones((N_TILES, N_FEATURES, TILE), real), "centers": np.ones((8, N_FEATURES), real),
            "shifts": np.ones(8, real), "weights": np.ones((2, 8)), "constants": np.ones(2),
            "columns": np.ones((2, N_TILES, TILE), real), "shape": 1, "n_threads": 1}


def multiply_columns(real):
    return {"columns": np.ones((3, N_TILES, TILE), real), "n_columns": 3, "weight": tiled(),
            "vectors": np.ones((2, N_TILES, TILE)), "partial": np.ones((1, 6)),
            "scratch": np.ones((1, sparse.PRODUCT_SCRATCH)), "products": np.ones((2, 3)), "n_threads": 1}


def shift_vectors(real):
    return {"columns": np.ones((3, N_TILES, TILE), real), "steps": np.ones((2, 3)), "weight": tiled(),
            "vectors": np.ones((2, N_TILES, TILE)), "partial": np.ones((1, 2)), "squares": np.ones(2), "n_threads": 1}


def multiply_kernels(real):
    return {"tiles": np.ones((2, N_FEATURES, TILE), real), "centers": np.ones((16, N_FEATURES), real),
            "weights": np.ones((2, 16)), "kept": np.ones((1, 16, TILE), real), "is_filled": False,
            "products": np.empty((2, 2, TILE)), "shape": 1, "n_threads": 1}


def kernel_columns(real):
    return {"tiles": np.ones((2, N_FEATURES, TILE), real), "centers": np.ones((32, N_FEATURES), real),
            "columns": np.empty((17, 2, TILE), real), "shape": 1, "n_threads": 1}


def kernel_matrix(real):
    return {"tiles": np.ones((2, N_FEATURES, TILE)), "centers": np.ones((8, N_FEATURES)),
            "matrix": np.ones((5, TILE + 1)), "derivatives": np.ones((5, TILE + 1)), "shape": 1, "lower": False,
            "n_threads": 1}


def multiply(real):
    return {"left": np.ones((5, 40)), "panels": np.ones((2, 40, 32)), "out": np.empty((5, 33)),
            "scratch": np.empty((1, sparse.system_scratch(40))), "n_threads": 1}


def factorise_system(real):
    return {"matrix": np.eye(40), "inverses": np.empty((2, 32, 32)),
            "scratch": np.empty((1, sparse.system_scratch(40))), "n_threads": 1}


def invert_system(real):
    return {"factor": np.eye(40), "inverses": np.ones((2, 32, 32)), "inverse": np.empty((40, 40)),
            "diagonal": np.empty(40), "panels": np.empty((2, 64, 32)), "transposed": np.empty((64, 64)),
            "scratch": np.empty((1, sparse.system_scratch(40))), "n_threads": 1}


def solve_system(real):
    return {"factor": np.eye(40, dtype=real), "solutions": np.ones((2, 40))}


def likelihood_gradient(real):
    return {"inverse": np.ones((5, 5)), "weights": np.ones((2, 5)), "matrix": np.ones((5, 5)),
            "derivatives": np.ones((5, 5)), "sums": np.empty((5, 4)), "n_threads": 1}


def choose(real):
    rng = np.random.default_rng(0)
    return {"tiles": rng.standard_normal((1, N_FEATURES, TILE)), "n_rows": 9, "weight": np.ones(TILE),
            "target": rng.standard_normal((2, TILE)), "model": np.zeros((2, TILE)), "chosen": np.zeros(2, np.intp)}


def remember(real):
    return {"tiles": np.random.default_rng(0).standard_normal((1, N_FEATURES, TILE)), "row": 3}


def fill_level_counts(real):
    return {"counts": np.zeros(2 ** len(simd.FLAGS), np.uint8)}


def map_rows(real):
    kernel = scoring.ColumnForms(np.array([0, 1, 1, 2]), np.array([0, 1]), np.ones((2, 6)), np.zeros(2, np.intp),
                                 np.empty(0), np.empty(0))
    return {"forms": kernel, "X": np.ones((5, 3), real), "limit": 9.0, "out": np.empty((5, 2, 1), real),
            "scratch": np.empty((1, scoring.scratch_size(5, 3))), "n_threads": 1}


def merge_summaries(real):
    return {"values_a": np.arange(4.0), "weights_a": np.ones(4), "values_b": np.arange(3.0), "weights_b": np.ones(3),
            "n_entries": 5, "values": np.empty(7), "weights": np.empty(7)}


def term_arguments(*names):
    n = N_TILES * TILE
    every = {"subset": np.array([0, N_FEATURES - 1]), "omega": np.ones(2), "reg_lambda": 0.1,
             "omega_gradient": np.ones(2), "amplitudes": np.ones((2, 1)),
             "scratch": np.ones(boosting.scratch_size(2, 3), np.float32),
             "sums": np.ones(boosting.sums_size(2, 1)), "out": np.ones((1, n), np.float32), "first_length": 1.0,
             "search": solvers.LBFGS(2, 3, 1e-9, 1e-5, 1e-6), "mu": 0.1, "first_tile": 1, "n_tiles": 3,
             "gradient": np.ones((1, n), np.float32), "weight": np.ones(n, np.float32)}
    return {"columns": np.ones((N_FEATURES, n), np.float32)} | {name: every[name] for name in names}


PASS = ("gradient", "weight", "mu", "first_tile", "n_tiles", "sums")


def choose_term(real):
    return term_arguments(*PASS) | {"omegas": np.ones((4, N_FEATURES)), "reg_lambdas": np.ones(4), "values": np.ones(4),
                                    "subset": np.zeros(N_FEATURES, np.intp),
                                    "sums": np.ones(boosting.sums_size(N_FEATURES, 1))}


def term_objective(real):
    return term_arguments(*PASS, "subset", "omega", "reg_lambda", "omega_gradient", "amplitudes", "scratch")


def descend_term(real):
    return term_arguments(*PASS, "search", "subset", "omega", "reg_lambda", "first_length", "amplitudes", "scratch")


def evaluate_term(real):
    return term_arguments("subset", "omega", "amplitudes", "out") | {"n_threads": 1}


def column_products(real):
    columns = np.ones((N_FEATURES, 2 * TILE), np.float32)
    return {"columns": columns, "subset": np.arange(N_FEATURES), "vectors": columns[:3], "n_train": TILE,
            "products": np.empty((3, N_FEATURES)), "n_threads": 1}


def column_gram(real):
    columns = np.ones((N_FEATURES, 2 * TILE), np.float32)
    return {"columns": columns, "subset": np.arange(N_FEATURES), "weight": columns[0], "n_train": TILE,
            "gram": np.empty((N_FEATURES, N_FEATURES)), "n_threads": 1}


def evaluate_linear(real):
    columns = np.ones((N_FEATURES, 2 * TILE), np.float32)
    return {"columns": columns, "subset": np.arange(N_FEATURES), "coefficients": np.ones((3, N_FEATURES)),
            "out": np.empty((3, 2 * TILE), np.float32), "n_threads": 1}


def draw_columns(real):
    return {"generator": np.random.default_rng(0), "relevances": np.ones(N_FEATURES), "equal_share": 0.1,
            "fewest_draws": 1.5, "most_draws": 6.0, "chosen": np.empty(N_FEATURES, np.uint8),
            "chances": np.empty((2, N_FEATURES))}


def draw_candidates(real):
    return draw_columns(real) | {"sources": np.arange(N_FEATURES), "lowest_scale": 0.0, "highest_scale": 1.0,
                                 "reg_lambda": 0.1, "omegas": np.empty((3, N_FEATURES)), "reg_lambdas": np.empty(3)}


def add_relevances(real):
    return {"relevances": np.ones(N_FEATURES), "sources": np.arange(N_FEATURES), "columns": np.arange(N_FEATURES),
            "values": np.ones(N_FEATURES), "factor": 1.0}


def add_square_relevances(real):
    return add_relevances(real) | {"values": np.ones((2, N_FEATURES))}


def step_derivatives(real):
    row = np.ones((1, 2 * TILE), np.float32)
    return {"loss": boosting.LOSSES["logistic"], "parameters": row[0, :1], "scores": row, "directions": row,
            "step": 0.1, "targets": row[0], "weight": row[0], "n_train": TILE, "n_threads": 1}


def best_step(real):
    return step_derivatives(real) | {"n_steps": 2, "largest_move": 5.0, "smallest_move": 0.1}


def update(real):
    return step_derivatives(real) | {"half_weight": np.ones(2 * TILE, np.float32)} | {
        name: np.ones((1, 2 * TILE), np.float32) for name in ("scores", "gradient", "hessian")}


def grow_tree(real):
    binned, rows = np.ones((N_FEATURES, 2 * TILE), np.uint8), np.ones((2, 2 * TILE), np.float32)
    return grow_arguments(binned, np.full(N_FEATURES, 2), rows, rows, [0, 2], 3, 1.0, TILE)


def leaf_sums(real):
    binned, rows = np.ones((N_FEATURES, 2 * TILE), np.uint8), np.ones((2, 2 * TILE), np.float32)
    return leaf_arguments(binned, np.arange(3), np.zeros(3, np.intp), rows, rows, TILE)


def evaluate_tree(real):
    return {"binned": np.ones((N_FEATURES, TILE), np.uint8), "columns": np.arange(3),
            "threshold_bins": np.zeros(3, np.intp),
            "values": np.ones((8, 2)), "out": np.empty((2, TILE), np.float32), "n_threads": 1}


def find_bins(real):
    return {"columns": np.ones((N_FEATURES, TILE), np.float32), "binned": np.array([0, 2]), "n_bins": np.array([2, 3]),
            "edges": np.zeros((2, 255), np.float32), "bins": np.empty((2, TILE), np.uint8), "n_threads": 1}


def add_leaves(real):
    return {"rows": np.ones((4, 3)), "columns": np.array([[0, 2]]), "thresholds": np.zeros((1, 2)),
            "steps": np.array([[1, 2]]), "ends": np.array([0, 2]), "places": np.array([0, 2]),
            "starts": np.array([0, 8]), "tables": np.ones(8), "out": np.zeros((4, 3, 1)), "n_threads": 1}


def sparse_products(real):
    return {"indptr": np.array([0, 1, 3]), "indices": np.array([0, 2, 1], np.int32), "cells": np.ones(3),
            "vectors": np.ones((3, 2)), "out": np.empty((2, 2)), "n_threads": 1}


ENTRIES = {
    boosting: [best_step, step_derivatives, update, choose_term, term_objective, descend_term, evaluate_term, grow_tree,
               leaf_sums, evaluate_tree, find_bins, column_products, column_gram, evaluate_linear, draw_columns,
               draw_candidates, add_relevances, add_square_relevances],
    explain: [add_leaves],
    gbrff: [make_rff, landmark_objective, descend_landmark, component_losses, omega_objective, descend_omega,
            search_phase, apply_exponential, apply_squared, loss_along_step, boost_rows, shrink_rows],
    pbrff: [combine_rows, project_rows, weighted_gram, weighted_cosines, landmark_features],
    rffnet: [train_rows, row_losses],
    scoring: [column_range, column_moments, pack_rows, sparse_products, map_rows, merge_summaries],
    simd: [fill_level_counts],
    solvers: [factorise, add_products, extend, solve_factorised],
    sparse: [take_tiles, correlate_centers, combine_kernels, fill_columns, multiply_columns, shift_vectors,
             kernel_matrix, multiply, factorise_system, invert_system, solve_system, likelihood_gradient, choose,
             remember, multiply_kernels, kernel_columns],
}
METHODS = ("choose", "remember")   # of a Selector

# What takes no array, or one array of any length, or those of an expansion; `minimize`, `Scorer` and
# `ProductTerms` have tests of their own.
WITHOUT_ENTRY = {
    "boosting.draw_below", "boosting.scratch_size", "boosting.store_size", "boosting.sums_size",
    "explain.ProductTerms.add_values", "explain.ProductTerms.factors", "explain.ProductTerms.scratch_size",
    "gbrff.terms_size", "pbrff.gram_scratch", "rffnet.scratch_sizes",
    "scoring.find_unbounded", "scoring.tile_width", "simd.detect", "simd.select", "simd.selected",
    "solvers.factor_scratch", "solvers.minimize", "sparse.Selector.forget_last", "sparse.Selector.reset",
    "sparse.system_scratch", "scoring.Scorer.find_far", "scoring.Scorer.score", "scoring.Scorer.take",
    "scoring.functions", "scoring.make_model", "scoring.read_numbers", "scoring.scratch_size",
}

# Axes that say how much there is to do: a shorter one asks for less, of arrays that may be longer than needed.
COUNTS = {
    ("grow_tree", "candidates", 0),
    ("solve_factorised", "x", 0), ("landmark_features", "posterior", 0), ("landmark_features", "posterior", 1),
    ("train_rows", "order", 0), ("train_rows", "coefficients", 1), ("shift_vectors", "steps", 1),
    ("multiply_columns", "vectors", 0), ("combine_kernels", "kernels", 0), ("combine_kernels", "weights", 1),
    ("choose", "chosen", 0), ("take_tiles", "rows", 0), ("solve_system", "solutions", 0),
    ("likelihood_gradient", "weights", 0), ("factorise", "matrix", 1),
    ("add_products", "matrix", 1), ("add_products", "rows", 1), ("multiply_kernels", "kept", 0),
    ("add_square_relevances", "values", 0),
}

KERNELS = [pytest.param(module, build, id=build.__name__) for module, builds in ENTRIES.items() for build in builds]


def having(*arguments):
    """Entries of the kernels with arguments of these names."""
    return [entry for entry in KERNELS if {*arguments} <= {*entry.values[1](np.float64)}]


PRECISIONS = pytest.mark.parametrize("real", [np.float32, np.float64])


def call(module, name, arguments):
    if name in METHODS:
        selector = sparse.Selector("max-res", 4, N_FEATURES, 1.0, 0.0, 0.1, 1e-9, 0.0, 3, 2)
        return getattr(selector, name)(**arguments)
    return getattr(module, name)(**arguments)


def public_functions(module):
    """Names of the functions and methods of a compiled module that Python sees."""
    short = module.__name__.rpartition(".")[2]
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            yield from (f"{short}.{name}.{method}" for method, found in vars(value).items()
                        if callable(found) and not method.startswith("_"))
        elif callable(value):
            yield f"{short}.{name}"


def test_the_table_is_complete():
    modules = [importlib.import_module(f"rffkern._native.{found.name}")
               for found in pkgutil.iter_modules(_native.__path__) if not found.name.startswith("_")]
    compiled = [module for module in modules if not module.__file__.endswith(".py")]
    assert len(compiled) == len(ENTRIES)
    found = {name for module in compiled for name in public_functions(module)}
    covered = {f"{module.__name__.rpartition('.')[2]}.{'Selector.' * (build.__name__ in METHODS)}{build.__name__}"
               for module, builds in ENTRIES.items() for build in builds}
    assert found == covered | WITHOUT_ENTRY
    assert not covered & WITHOUT_ENTRY


def refusal(module, name, arguments):
    """The message of the ValueError that a kernel raises, or nothing."""
    try:
        call(module, name, arguments)
    except ValueError as error:
        return str(error)
    return ""


@PRECISIONS
@pytest.mark.parametrize(("module", "build"), KERNELS)
def test_arrays_that_are_one_too_short(module, build, real):
    call(module, build.__name__, build(real))
    for name, value in build(real).items():
        for axis in range(np.ndim(value)):
            if (build.__name__, name, axis) in COUNTS:
                continue
            arguments = build(real)
            arguments[name] = np.ascontiguousarray(np.delete(value, -1, axis))
            assert "must" in refusal(module, build.__name__, arguments), (name, axis)


@PRECISIONS
@pytest.mark.parametrize(("module", "build"), having("n_threads"))
def test_fewer_than_one_thread(module, build, real):
    for n_threads in (0, -1):
        with pytest.raises(ValueError, match="n_threads must be at least 1"):
            call(module, build.__name__, build(real) | {"n_threads": n_threads})


@pytest.mark.parametrize(("module", "build"), having("lanes") + having("scratch", "n_threads"))
def test_scratch_for_every_thread(module, build):
    with pytest.raises(ValueError, match=r"(lanes|scratch) must have shape \(n_threads, "):
        call(module, build.__name__, build(np.float64) | {"n_threads": 2})


@pytest.mark.parametrize(("module", "build", "changes"), [
    (boosting, grow_tree, {"candidates": np.array([0, N_FEATURES])}),
    (boosting, grow_tree, {"candidates": np.array([-1])}),
    (boosting, grow_tree, {"candidates": np.empty(0, np.intp)}),
    (boosting, grow_tree, {"n_bins": np.array([2, 0, 2])}),
    (boosting, grow_tree, {"n_bins": np.array([2, 257, 2])}),
    (boosting, grow_tree, {"indicators": np.array([-1, -2, -1])}),
    (boosting, grow_tree, {"indicators": np.array([-1, -1, N_FEATURES])}),
    (boosting, grow_tree, {"indicators": np.array([-1, -1, 0]), "signs": np.ones(N_FEATURES, np.int8)}),
    (boosting, grow_tree, {"reg": 0.0}), (boosting, grow_tree, {"reg": np.nan}),
    (boosting, grow_tree, {"n_train": 0}), (boosting, grow_tree, {"n_train": 2 * TILE + 1}),
    (boosting, grow_tree, {"depth": -1}), (boosting, grow_tree, {"depth": boosting.MAX_DEPTH + 1}),
    (boosting, find_bins, {"binned": np.array([0, N_FEATURES])}), (boosting, find_bins, {"n_bins": np.array([0, 2])}),
    (boosting, find_bins, {"n_bins": np.array([2, 257])}),
    (boosting, leaf_sums, {"columns": np.array([0, 1, N_FEATURES])}),
    (boosting, leaf_sums, {"threshold_bins": np.array([0, 0, 256])}),
    (boosting, leaf_sums, {"n_train": 0}), (boosting, leaf_sums, {"n_train": 2 * TILE + 1}),
    (boosting, evaluate_tree, {"columns": np.array([0, 1, N_FEATURES])}),
    (boosting, evaluate_tree, {"columns": np.array([0, 1, -1])}),
    (boosting, evaluate_tree, {"threshold_bins": np.array([0, 0, 256])}),
    (boosting, evaluate_tree, {"threshold_bins": np.array([0, 0, -1])}),
    (pbrff, weighted_cosines, {"n_components": 0}),
    (pbrff, weighted_cosines, {"group": np.array([0, 2])}),
    (pbrff, weighted_cosines, {"group": np.array([-1, 0])}),
    (rffnet, train_rows, {"batch_size": 0}), (rffnet, train_rows, {"n_terms": rffnet.TERM_GROUP}),
    (rffnet, train_rows, {"n_terms": -1}), (rffnet, train_rows, {"order": np.array([200])}),
    (rffnet, train_rows, {"order": np.array([-1])}), (rffnet, train_rows, {"loss": None}),
    (rffnet, train_rows, {"coefficients": np.ones((3, 0, rffnet.TERM_GROUP)), "targets": np.ones((200, 0))}),
    (rffnet, row_losses, {"loss": None}),
    (pbrff, weighted_gram, {"partial": np.ones((0, LANES, LANES))}),
    (scoring, pack_rows, {"order": np.full(TILE + 1, TILE + 1)}),
    (scoring, pack_rows, {"order": np.full(TILE + 1, -1)}),
    (scoring, column_moments, {"power": 3}), (solvers, extend, {"size": 5}), (solvers, extend, {"size": -1}),
    (scoring, merge_summaries, {"n_entries": 0}),
    (scoring, map_rows, {"forms": None}), (scoring, map_rows, {"out": np.empty((1, 2, 24))}),
    (scoring, sparse_products, {"indices": np.array([0, 2, -1], np.int32)}),
    (scoring, sparse_products, {"indices": np.array([0, 2, 3], np.int32)}),
    (scoring, sparse_products, {"indptr": np.array([0, 4, 3])}),
    (scoring, sparse_products, {"indptr": np.array([1, 1, 3])}),
    (solvers, add_products, {"first": -1}), (solvers, add_products, {"first": 7, "last": 6}),
    (solvers, add_products, {"last": 7}), (solvers, add_products, {"offset": -1}),
    (solvers, add_products, {"offset": 3}),
    (solvers, factorise, {"matrix": np.ones((7, 5))}),
    (sparse, multiply_kernels, {"shape": 0}), (sparse, kernel_columns, {"shape": 3}),
    (sparse, multiply_kernels, {"kept": np.ones((3, 16, TILE))}),
    (sparse, take_tiles, {"rows": np.array([0, N_TILES * TILE])}), (sparse, take_tiles, {"rows": np.array([-1])}),
    (sparse, take_tiles, {"n_features": 0}), (sparse, take_tiles, {"n_features": N_FEATURES - 2}),
    (sparse, combine_kernels, {"start": -1}), (sparse, combine_kernels, {"start": 1}),
    (sparse, multiply_columns, {"n_columns": 0}), (sparse, multiply_columns, {"n_columns": 4}),
    (boosting, choose_term, {"mu": 0.0}), (boosting, choose_term, {"mu": np.nan}),
    (boosting, choose_term, {"first_tile": -1}), (boosting, choose_term, {"n_tiles": 0}),
    (boosting, descend_term, {"first_tile": 2}), (boosting, descend_term, {"n_tiles": 4}),
    (boosting, descend_term, {"subset": np.array([0, N_FEATURES])}),
    (boosting, term_objective, {"subset": np.array([0, -1])}), (boosting, descend_term, {"search": None}),
    (boosting, descend_term, {"search": solvers.LBFGS(1, 3, 1e-9, 1e-5, 1e-6)}),
    (boosting, evaluate_term, {"subset": np.array([0, N_FEATURES])}),
    (boosting, column_products, {"subset": np.r_[1 : N_FEATURES + 1]}),
    (boosting, column_gram, {"subset": np.r_[-1 : N_FEATURES - 1]}), (boosting, column_gram, {"n_train": 2 * TILE + 1}),
    (boosting, evaluate_linear, {"subset": np.r_[1 : N_FEATURES + 1]}),
    (boosting, draw_columns, {"relevances": np.empty(0)}), (boosting, draw_columns, {"fewest_draws": np.nan}),
    (boosting, draw_columns, {"most_draws": 1.0}),
    (boosting, draw_candidates, {"sources": np.r_[1 : N_FEATURES + 1]}),
    (boosting, add_relevances, {"columns": np.r_[1 : N_FEATURES + 1]}),
    (boosting, add_relevances, {"sources": np.r_[1 : N_FEATURES + 1]}),
    (boosting, add_square_relevances, {"columns": np.r_[1 : N_FEATURES + 1]}),
    (boosting, add_square_relevances, {"sources": np.r_[1 : N_FEATURES + 1]}),
    (boosting, evaluate_term, {"subset": np.empty(0, np.intp), "omega": np.empty(0)}),
    (gbrff, descend_omega, {"search": None}),
    (gbrff, descend_omega, {"search": solvers.LBFGS(N_FEATURES - 1, 3, 1e-9, 1e-5, 1e-6)}),
    (gbrff, descend_landmark, {"search": None}),
    (gbrff, descend_landmark, {"search": solvers.LBFGS(N_FEATURES + 1, 3, 1e-9, 1e-5, 1e-6)}),
])
def test_values_out_of_range(module, build, changes):
    with pytest.raises(ValueError, match="must"):
        call(module, build.__name__, build(np.float64) | changes)


@pytest.mark.parametrize("n_rows", [-1, TILE + 1])
def test_candidates_that_are_no_rows(n_rows):
    with pytest.raises(ValueError, match="n_rows must"):
        call(sparse, "choose", choose(np.float64) | {"n_rows": n_rows})


@pytest.mark.parametrize(("function", "arguments"), [
    (boosting.scratch_size, (0, 1)), (boosting.scratch_size, (1, 0)),
    (boosting.sums_size, (0, 1)), (boosting.sums_size, (1, 0)),
    (gbrff.terms_size, (0, 1)), (gbrff.terms_size, (1, 0)), (solvers.factor_scratch, (-1,)),
    (pbrff.gram_scratch, (0,)), (scoring.scratch_size, (-1, 1)), (scoring.scratch_size, (1, 0)),
    (scoring.tile_width, (0, 8)), (scoring.tile_width, (1, 0)),
    (boosting.store_size, (0, 1, 1, 1)), (boosting.store_size, (1, 0, 1, 1)),
    (boosting.store_size, (1, 1, 0, 1)), (boosting.store_size, (1, 1, 1, -1)),
    (boosting.store_size, (1, 1, 1, boosting.MAX_DEPTH + 1)),

    (rffnet.scratch_sizes, (1, 1, 1, 0)), (rffnet.scratch_sizes, (0, 1, 1, 1)),
    (solvers.LBFGS, (0, 3, 1e-9, 1e-5, 1e-6)), (sparse.Selector, ("mp", -1, 1, 1.0, 0.0, 0.1, 0.1, 0.1, 1, 2)),
])
def test_sizes_out_of_range(function, arguments):
    with pytest.raises(ValueError, match="must"):
        function(*arguments)


def test_a_gradient_of_another_length():
    with pytest.raises(ValueError, match="gradient of the shape of x0"):
        solvers.minimize(lambda x: (0.0, np.ones(2)), np.ones(3))


@pytest.mark.parametrize("target", [-1.0, 2.0, np.nan, np.inf])
def test_a_target_that_is_no_class(target):
    """It must not be written beyond the slopes of its row."""
    losses, slopes = np.zeros(1), np.zeros((1, 2))
    rffnet.row_losses(rffnet.Softmax(), np.ones((1, 2)), np.full((1, 1), target), losses, slopes)
    assert np.isnan(losses[0])
    np.testing.assert_array_equal(slopes, 0.5)
