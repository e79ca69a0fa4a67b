"""Tables that transformers return where they are asked to: `set_output`, as scikit-learn has it."""

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Literal

from .._native.array_types import NDArray
from ..errors import InvalidInputError
from .arguments import check_choice

_KINDS = ("default", "pandas", "polars")


def set_output(self: Any, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Any:
    """Say what `transform` and `fit_transform` return: "default" for arrays, "pandas" or "polars" for data frames.

    None changes nothing.  Unless this says it, `sklearn.set_config(transform_output=...)` does where scikit-learn is
    loaded.  Columns have the names of `get_feature_names_out`, and a pandas frame keeps its index.  Returns self.
    """
    if transform is not None:
        self._sklearn_output_config = {"transform": check_choice("transform", transform, _KINDS)}
    return self


def check_input_features(given: Any, names: Iterable[str] | None, n_features: int) -> None:
    """Refuse column names that are not those of `fit`, or not as many."""
    if given is None:
        return
    if names is not None and list(given) != list(names):
        raise InvalidInputError("input_features is not equal to feature_names_in_")
    if len(given) != n_features:
        raise InvalidInputError(f"input_features should have length equal to number of features ({n_features}), "
                                f"got {len(given)}")


def contained(owner: Any, rows: NDArray[Any], names: Callable[[], Iterable[str]], X: Any) -> Any:
    """Output rows of a transformer in the container that it is asked for; X is what they were made of."""
    kind = vars(owner).get("_sklearn_output_config", {}).get("transform")
    get_config = getattr(sys.modules.get("sklearn"), "get_config", None)
    if kind is None and get_config is not None:
        kind = get_config().get("transform_output")
    if kind not in ("pandas", "polars"):
        return rows
    try:
        library = import_module(kind)
    except ImportError as error:
        raise ImportError(f'set_output(transform="{kind}") needs {kind}, which is not installed') from error
    if kind == "polars":
        return library.DataFrame(rows, schema=list(names()), orient="row")
    index = X.index if isinstance(X, (library.DataFrame, library.Series)) else None
    return library.DataFrame(rows, index=index, columns=list(names()), copy=False)
