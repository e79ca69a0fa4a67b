from . import errors as errors
from . import expansion as expansion
from . import kernel_expansion as kernel_expansion
from . import serialize as serialize
from . import sum_expansion as sum_expansion
from . import term_expansion as term_expansion
from ._boosting.estimators import FourierBoostingClassifier as FourierBoostingClassifier
from ._boosting.estimators import FourierBoostingRegressor as FourierBoostingRegressor
from ._columns.column_map import ColumnMap as ColumnMap
from ._data.row_blocks import RowBlocks as RowBlocks
from ._data.threads import set_num_threads as set_num_threads
from ._export.export import export as export
from ._gbrff.gbrff1 import GBRFF1Classifier as GBRFF1Classifier
from ._gbrff.gbrff2 import GBRFF2Classifier as GBRFF2Classifier
from ._gbrff.least_squares import GBRFFClassifier as GBRFFClassifier
from ._gbrff.least_squares import GBRFFRegressor as GBRFFRegressor
from ._kernel_machine.estimators import KernelRidgeClassifier as KernelRidgeClassifier
from ._kernel_machine.estimators import KernelRidgeRegressor as KernelRidgeRegressor
from ._pbrff.estimators import PBRFFClassifier as PBRFFClassifier
from ._pbrff.transformer import PBRFFTransformer as PBRFFTransformer
from ._rffnet.estimators import RFFNetClassifier as RFFNetClassifier
from ._rffnet.estimators import RFFNetRegressor as RFFNetRegressor
from ._sparse.estimators import SparseKernelClassifier as SparseKernelClassifier
from ._sparse.estimators import SparseKernelRegressor as SparseKernelRegressor
from ._system.c_sources import get_include as get_include
from ._system.config import show_config as show_config
from ._version import __version__ as __version__
from .embedding import c_functions as c_functions
from .embedding import c_model as c_model
from .errors import DataConversionWarning as DataConversionWarning
from .errors import FormatError as FormatError
from .errors import InvalidInputError as InvalidInputError
from .errors import NotFittedError as NotFittedError
from .errors import RFFKernError as RFFKernError
from .errors import TrainingStateError as TrainingStateError
from .expansion import FourierExpansion as FourierExpansion
from .kernel_expansion import KernelExpansion as KernelExpansion
from .serialize import dumps as dumps
from .serialize import load as load
from .serialize import loads as loads
from .serialize import save as save
from .sum_expansion import SumExpansion as SumExpansion
from .term_expansion import TermExpansion as TermExpansion

__all__ = [
    "ColumnMap",
    "DataConversionWarning",
    "FormatError",
    "FourierBoostingClassifier",
    "FourierBoostingRegressor",
    "FourierExpansion",
    "GBRFF1Classifier",
    "GBRFF2Classifier",
    "GBRFFClassifier",
    "GBRFFRegressor",
    "InvalidInputError",
    "KernelExpansion",
    "KernelRidgeClassifier",
    "KernelRidgeRegressor",
    "NotFittedError",
    "PBRFFClassifier",
    "PBRFFTransformer",
    "RFFKernError",
    "RFFNetClassifier",
    "RFFNetRegressor",
    "RowBlocks",
    "SparseKernelClassifier",
    "SparseKernelRegressor",
    "SumExpansion",
    "TermExpansion",
    "TrainingStateError",
    "__version__",
    "c_functions",
    "c_model",
    "dumps",
    "export",
    "get_include",
    "load",
    "loads",
    "save",
    "set_num_threads",
    "show_config",
]
