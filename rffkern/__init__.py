"""Kernel learning by random Fourier features and boosting.

The code of a public name is loaded when the name is first used: importing the package takes about a millisecond, and a
model of one family does not load the others.
"""

from importlib import import_module
from typing import Any

try:
    from ._version import __version__ as __version__
except ModuleNotFoundError as error:
    raise ImportError("rffkern is being imported from its source tree, which holds no compiled modules: install it "
                      "with pip install . and start Python in another folder (to edit it, see CONTRIBUTING.md)"
                      ) from error
from ._estimator.registry import FAMILIES as _FAMILIES

# The module in which each name is, below this package.
_MODULES = {
    "ColumnMap": "_column_map.column_map",
    "Expansion": "_model.expansion",
    "FourierTerms": "_model.parts",
    "KernelTerms": "_model.parts",
    "LinearTerms": "_model.parts",
    "RowBlocks": "_rows.row_blocks",
    "TreeTerms": "_model.parts",
    "dumps": "_files.model_files",
    "get_include": "_installation",
    "export": "_export.export",
    "c_functions": "embedding",
    "c_model": "embedding",
    "checkpoint": "_files.checkpoint",
    "load": "_files.model_files",
    "loads": "_files.model_files",
    "save": "_files.model_files",
    "set_num_threads": "_rows.threads",
    "shrink": "_files.shrink",
    "show_config": "_installation",
} | {family.class_name: family.module for family in _FAMILIES.values()} | dict.fromkeys(
    ("ColumnWarning", "DataConversionWarning", "FormatError", "InvalidInputError", "NotFittedError", "RFFKernError",
     "TrainingStateError"), "errors")

# Public modules, which `import rffkern` makes available without loading them.
_SUBMODULES = ("errors", "plot")

__all__ = sorted([*_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for (PEP 562)."""
    if name in _MODULES:
        found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    elif name in _SUBMODULES:
        found = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """All public names, whether their code is loaded or not."""
    return sorted([*__all__, *_SUBMODULES])
