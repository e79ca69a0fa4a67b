"""Kernel learning by random Fourier features and boosting."""

from ._version import __version__
from .errors import DataConversionWarning, FormatError, InvalidInputError, NotFittedError, RFFKernError
from .expansion import FourierExpansion
from .models import GBRFF2Classifier
from .serialize import load, save

__all__ = [
    "DataConversionWarning",
    "FormatError",
    "FourierExpansion",
    "GBRFF2Classifier",
    "InvalidInputError",
    "NotFittedError",
    "RFFKernError",
    "__version__",
    "load",
    "save",
]
