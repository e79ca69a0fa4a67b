"""The families of models; importing one registers it."""

from .gbrff2 import GBRFF2Classifier

__all__ = ["GBRFF2Classifier"]
