"""The families of models; importing one registers it."""

from .gbrff1 import GBRFF1Classifier
from .gbrff2 import GBRFF2Classifier
from .gbrff_ls import GBRFFClassifier, GBRFFRegressor
from .pbrff import PBRFFClassifier, PBRFFTransformer
from .rffnet import RFFNetClassifier, RFFNetRegressor
from .sparse_boosting import SparseKernelClassifier, SparseKernelRegressor

__all__ = ["GBRFF1Classifier", "GBRFF2Classifier", "GBRFFClassifier", "GBRFFRegressor", "PBRFFClassifier",
           "PBRFFTransformer", "RFFNetClassifier", "RFFNetRegressor", "SparseKernelClassifier", "SparseKernelRegressor"]
