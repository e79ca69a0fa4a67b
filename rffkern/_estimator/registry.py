"""The families by the names that files and the command line know; their code is loaded when it is first asked for."""

from importlib import import_module
from typing import Any, NamedTuple

_PACKAGE = __name__.split(".", 1)[0]


class Family(NamedTuple):
    """Where the class of a family is."""

    class_name: str
    module: str
    task: str  # "classifier", "regressor" or "transformer"

    def load(self) -> Any:
        """The class, which names its family in the attribute `family`."""
        return getattr(import_module(f"{_PACKAGE}.{self.module}"), self.class_name)


FAMILIES = {
    "fourier_boosting": Family("FourierBoostingClassifier", "_training.fourier_boosting.estimators", "classifier"),
    "fourier_boosting_regressor": Family("FourierBoostingRegressor", "_training.fourier_boosting.estimators",
                                         "regressor"),
    "gbrff": Family("GBRFFClassifier", "_training.gbrff.estimators", "classifier"),
    "gbrff1": Family("GBRFF1Classifier", "_training.gbrff.estimators", "classifier"),
    "gbrff2": Family("GBRFF2Classifier", "_training.gbrff.estimators", "classifier"),
    "gbrff_regressor": Family("GBRFFRegressor", "_training.gbrff.estimators", "regressor"),
    "kernel_ridge": Family("KernelRidgeClassifier", "_training.kernel_ridge.estimators", "classifier"),
    "kernel_ridge_regressor": Family("KernelRidgeRegressor", "_training.kernel_ridge.estimators", "regressor"),
    "pbrff": Family("PBRFFClassifier", "_training.pbrff.estimators", "classifier"),
    "pbrff_transformer": Family("PBRFFTransformer", "_training.pbrff.estimators", "transformer"),
    "rffnet": Family("RFFNetClassifier", "_training.rffnet.estimators", "classifier"),
    "rffnet_regressor": Family("RFFNetRegressor", "_training.rffnet.estimators", "regressor"),
    "sparse_kernel": Family("SparseKernelClassifier", "_training.sparse_kernel.estimators", "classifier"),
    "sparse_kernel_regressor": Family("SparseKernelRegressor", "_training.sparse_kernel.estimators", "regressor"),
}


def regressor_beside(family: str) -> tuple[str, str]:
    """The name and the class of the regressor of a classifier's family, or where it has none of the default."""
    names = [name for name, each in FAMILIES.items()
             if each.module == FAMILIES[family].module and each.task == "regressor"]
    name = names[0] if names else AUTOMATIC[1]
    return name, FAMILIES[name].class_name


# The families that the command line takes by default, and the word for them: of labels, of numbers.
AUTO, AUTOMATIC = "auto", ("fourier_boosting", "fourier_boosting_regressor")
