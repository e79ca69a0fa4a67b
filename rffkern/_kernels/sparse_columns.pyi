from .array_types import Double, Real

CENTER_MULTIPLE: int
PRODUCT_SCRATCH: int
SHAPES: dict[str, int]
UNITS: dict[int, float]

def correlate_centers(tiles: Real, centers: Real, shifts: Real, v: Double, kernels: Real, partial: Double,
                      sums: Double, shape: int, n_threads: int) -> None: ...
def combine_kernels(kernels: Real, weights: Double, constants: Double, columns: Real, start: int,
                    n_threads: int) -> None: ...
def fill_columns(tiles: Real, centers: Real, shifts: Real, weights: Double, constants: Double, columns: Real,
                 shape: int, n_threads: int) -> None: ...
def multiply_columns(columns: Real, n_columns: int, weight: Double, vectors: Double, partial: Double,
                     scratch: Double, products: Double, n_threads: int) -> None: ...
def shift_vectors(columns: Real, steps: Double, weight: Double, vectors: Double, partial: Double, squares: Double,
                  n_threads: int) -> None: ...
