import numpy as np
from numpy.typing import NDArray

from .array_types import Double
from .solvers import LBFGS

LOSSES: dict[str, int]  # numbers by name

def step_derivatives(
    loss: int, parameters: NDArray[np.float32], scores: NDArray[np.float32],
    directions: NDArray[np.float32], step: float,
    targets: NDArray[np.float32], weight: NDArray[np.float32], n_train: int, n_threads: int,
) -> tuple[float, float]: ...
def best_step(
    loss: int, parameters: NDArray[np.float32], scores: NDArray[np.float32],
    directions: NDArray[np.float32], step: float,
    targets: NDArray[np.float32], weight: NDArray[np.float32], n_train: int, n_steps: int, largest_move: float,
    smallest_move: float, n_threads: int,
) -> float: ...
def update(
    loss: int, parameters: NDArray[np.float32], scores: NDArray[np.float32],
    directions: NDArray[np.float32], step: float,
    targets: NDArray[np.float32], weight: NDArray[np.float32], half_weight: NDArray[np.float32], n_train: int,
    gradient: NDArray[np.float32], hessian: NDArray[np.float32], n_threads: int,
) -> tuple[float, float, float]: ...

def scratch_size(n_columns: int, n_tiles: int) -> int: ...
def sums_size(n_columns: int, n_outputs: int) -> int: ...
def choose_term(
    columns: NDArray[np.float32], gradient: NDArray[np.float32], weight: NDArray[np.float32], omegas: Double,
    reg_lambdas: Double, mu: float, first_tile: int, n_tiles: int, values: Double, subset: NDArray[np.intp],
    sums: Double,
) -> int: ...
def term_objective(
    columns: NDArray[np.float32], gradient: NDArray[np.float32], weight: NDArray[np.float32], subset: NDArray[np.intp],
    omega: Double, reg_lambda: float, mu: float, first_tile: int, n_tiles: int, omega_gradient: Double,
    amplitudes: Double, scratch: NDArray[np.float32], sums: Double,
) -> float: ...
def descend_term(
    search: LBFGS, columns: NDArray[np.float32], gradient: NDArray[np.float32], weight: NDArray[np.float32],
    subset: NDArray[np.intp], omega: Double, reg_lambda: float, mu: float, first_tile: int, n_tiles: int,
    first_length: float, amplitudes: Double, scratch: NDArray[np.float32], sums: Double,
) -> float: ...
def evaluate_term(
    columns: NDArray[np.float32], subset: NDArray[np.intp], omega: Double, amplitudes: Double,
    out: NDArray[np.float32], n_threads: int,
) -> None: ...

def column_products(
    columns: NDArray[np.float32], subset: NDArray[np.intp], vectors: NDArray[np.float32], n_train: int,
    products: Double, n_threads: int,
) -> None: ...
def column_gram(
    columns: NDArray[np.float32], subset: NDArray[np.intp], weight: NDArray[np.float32], n_train: int, gram: Double,
    n_threads: int,
) -> None: ...
def evaluate_linear(
    columns: NDArray[np.float32], subset: NDArray[np.intp], coefficients: Double, out: NDArray[np.float32],
    n_threads: int,
) -> None: ...

def find_bins(
    columns: NDArray[np.float32], binned: NDArray[np.intp], n_bins: NDArray[np.intp], edges: NDArray[np.float32],
    bins: NDArray[np.uint8], n_threads: int,
) -> None: ...

MAX_DEPTH: int
FEW_CANDIDATES: int
MOST_LEVELS: int
ALWAYS_LEFT: int

def store_size(n_train: int, n_outputs: int, n_candidates: int, depth: int) -> int: ...
def grow_tree(
    binned: NDArray[np.uint8], n_bins: NDArray[np.intp], signs: NDArray[np.int8], indicators: NDArray[np.intp],
    gradient: NDArray[np.float32], hessian: NDArray[np.float32], candidates: NDArray[np.intp], depth: int, reg: float,
    n_train: int,
    columns: NDArray[np.intp], threshold_bins: NDArray[np.intp], gains: Double, values: Double, store: Double,
    n_threads: int,
) -> int: ...
def leaf_sums(
    binned: NDArray[np.uint8], columns: NDArray[np.intp], threshold_bins: NDArray[np.intp],
    gradient: NDArray[np.float32], hessian: NDArray[np.float32], n_train: int, leaves: NDArray[np.uint16], sums: Double,
    n_threads: int,
) -> None: ...
def evaluate_tree(
    binned: NDArray[np.uint8], columns: NDArray[np.intp], threshold_bins: NDArray[np.intp], values: Double,
    out: NDArray[np.float32], n_threads: int,
) -> None: ...

def draw_below(generator: np.random.Generator, stop: int) -> int: ...
def draw_columns(
    generator: np.random.Generator, relevances: Double, equal_share: float, fewest_draws: float, most_draws: float,
    chosen: NDArray[np.uint8], chances: Double,
) -> None: ...
def draw_candidates(
    generator: np.random.Generator, relevances: Double, equal_share: float, fewest_draws: float, most_draws: float,
    sources: NDArray[np.intp], lowest_scale: float, highest_scale: float, reg_lambda: float, omegas: Double,
    reg_lambdas: Double, chosen: NDArray[np.uint8], chances: Double,
) -> None: ...
def add_relevances(
    relevances: Double, sources: NDArray[np.intp], columns: NDArray[np.intp], values: Double, factor: float,
) -> None: ...
def add_square_relevances(
    relevances: Double, sources: NDArray[np.intp], columns: NDArray[np.intp], values: Double, factor: float,
) -> None: ...
