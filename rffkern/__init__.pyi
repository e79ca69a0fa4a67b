from . import errors as errors
from . import plot as plot
from ._column_map.column_map import ColumnMap as ColumnMap
from ._export.export import export as export
from ._files.checkpoint import checkpoint as checkpoint
from ._files.model_files import dumps as dumps
from ._files.model_files import load as load
from ._files.model_files import loads as loads
from ._files.model_files import save as save
from ._files.shrink import shrink as shrink
from ._installation import get_include as get_include
from ._installation import show_config as show_config
from ._model.expansion import Expansion as Expansion
from ._model.parts import FourierTerms as FourierTerms
from ._model.parts import KernelTerms as KernelTerms
from ._model.parts import LinearTerms as LinearTerms
from ._model.parts import TreeTerms as TreeTerms
from ._rows.row_blocks import RowBlocks as RowBlocks
from ._rows.threads import set_num_threads as set_num_threads
from ._training.fourier_boosting.estimators import FourierBoostingClassifier as FourierBoostingClassifier
from ._training.fourier_boosting.estimators import FourierBoostingRegressor as FourierBoostingRegressor
from ._training.gbrff.estimators import GBRFF1Classifier as GBRFF1Classifier
from ._training.gbrff.estimators import GBRFF2Classifier as GBRFF2Classifier
from ._training.gbrff.estimators import GBRFFClassifier as GBRFFClassifier
from ._training.gbrff.estimators import GBRFFRegressor as GBRFFRegressor
from ._training.kernel_ridge.estimators import KernelRidgeClassifier as KernelRidgeClassifier
from ._training.kernel_ridge.estimators import KernelRidgeRegressor as KernelRidgeRegressor
from ._training.pbrff.estimators import PBRFFClassifier as PBRFFClassifier
from ._training.pbrff.estimators import PBRFFTransformer as PBRFFTransformer
from ._training.rffnet.estimators import RFFNetClassifier as RFFNetClassifier
from ._training.rffnet.estimators import RFFNetRegressor as RFFNetRegressor
from ._training.sparse_kernel.estimators import SparseKernelClassifier as SparseKernelClassifier
from ._training.sparse_kernel.estimators import SparseKernelRegressor as SparseKernelRegressor
from ._version import __version__ as __version__
from .embedding import c_functions as c_functions
from .embedding import c_model as c_model
from .errors import ColumnWarning as ColumnWarning
from .errors import DataConversionWarning as DataConversionWarning
from .errors import FormatError as FormatError
from .errors import InvalidInputError as InvalidInputError
from .errors import NotFittedError as NotFittedError
from .errors import RFFKernError as RFFKernError
from .errors import TrainingStateError as TrainingStateError

__all__ = [
    "ColumnMap",
    "ColumnWarning",
    "DataConversionWarning",
    "Expansion",
    "FormatError",
    "FourierBoostingClassifier",
    "FourierBoostingRegressor",
    "FourierTerms",
    "GBRFF1Classifier",
    "GBRFF2Classifier",
    "GBRFFClassifier",
    "GBRFFRegressor",
    "InvalidInputError",
    "KernelRidgeClassifier",
    "KernelRidgeRegressor",
    "KernelTerms",
    "LinearTerms",
    "NotFittedError",
    "PBRFFClassifier",
    "PBRFFTransformer",
    "RFFKernError",
    "RFFNetClassifier",
    "RFFNetRegressor",
    "RowBlocks",
    "SparseKernelClassifier",
    "SparseKernelRegressor",
    "TrainingStateError",
    "TreeTerms",
    "__version__",
    "c_functions",
    "c_model",
    "checkpoint",
    "dumps",
    "export",
    "get_include",
    "load",
    "loads",
    "save",
    "set_num_threads",
    "show_config",
    "shrink",
]
