"""Kernel learning by random Fourier features and boosting."""

try:
    from ._version import __version__
except ModuleNotFoundError as error:
    raise ImportError("rffkern is being imported from its source tree, which holds no compiled modules; change to "
                      "another folder, or install it with: pip install --no-build-isolation --editable .") from error
from ._config import show_config
from ._row_blocks import RowBlocks
from .errors import DataConversionWarning, FormatError, InvalidInputError, NotFittedError, RFFKernError
from .expansion import FourierExpansion, KernelExpansion
from .models import (
    GBRFF1Classifier,
    GBRFF2Classifier,
    GBRFFClassifier,
    GBRFFRegressor,
    PBRFFClassifier,
    PBRFFTransformer,
    RFFNetClassifier,
    RFFNetRegressor,
    SparseKernelClassifier,
    SparseKernelRegressor,
)
from .serialize import load, save

__all__ = [
    "DataConversionWarning",
    "FormatError",
    "FourierExpansion",
    "GBRFF1Classifier",
    "GBRFF2Classifier",
    "GBRFFClassifier",
    "GBRFFRegressor",
    "InvalidInputError",
    "KernelExpansion",
    "NotFittedError",
    "PBRFFClassifier",
    "PBRFFTransformer",
    "RFFKernError",
    "RFFNetClassifier",
    "RFFNetRegressor",
    "RowBlocks",
    "SparseKernelClassifier",
    "SparseKernelRegressor",
    "__version__",
    "load",
    "save",
    "show_config",
]
