"""Boosted models on Dask: trained on arrays and data frames in partitions, and scored partition by partition.

It needs the optional extra `dask` (pip install "rffkern[dask]"), and nothing else of the package loads it.
"""

import copy
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ._estimator.base import Model
from ._estimator.monitor import RoundInfo, printing
from ._protocol.arguments import check_rng
from ._protocol.parameters import not_fitted
from ._rows.training_rows import named_sets, parts_of_set
from ._training.distributed.columns import fit_map, map_other_rows, map_training_rows
from ._training.distributed.partitions import bytes_of_all_rows
from ._training.fourier_boosting.distributed import fit_partitions as fit_boosting
from ._training.fourier_boosting.estimators import FourierBoostingClassifier, FourierBoostingRegressor
from ._training.gbrff.estimators import GBRFF1Classifier, GBRFF2Classifier, GBRFFClassifier, GBRFFRegressor
from ._training.gbrff.partitions import fit_partitions as fit_gbrff
from ._training.kernel_ridge.estimators import KernelRidgeClassifier, KernelRidgeRegressor
from ._training.kernel_ridge.fit import fit as fit_kernel_ridge
from .errors import InvalidInputError, InvalidTypeError

try:
    import distributed
    from dask.base import is_dask_collection
    from dask.delayed import delayed

    from ._training.distributed.dask_workers import (
        DaskWorkers,
        check_workers,
        gather,
        losses_named,
        solve_on_workers,
    )
except ImportError as error:
    raise ImportError("rffkern.dask needs dask and distributed: pip install 'rffkern[dask]'") from error

__all__ = [
    "DaskFourierBoostingClassifier",
    "DaskFourierBoostingRegressor",
    "DaskGBRFF1Classifier",
    "DaskGBRFF2Classifier",
    "DaskGBRFFClassifier",
    "DaskGBRFFRegressor",
    "DaskKernelRidgeClassifier",
    "DaskKernelRidgeRegressor",
    "decision_function",
    "predict",
    "predict_proba",
]


# What `help` says of all classes, and of those that are trained by a function.
_HELP = """

    Parameters are those of `{}`, and `client`, a `dask.distributed.Client`, by default the current one.
    `to_local()` gives the ordinary model."""
_HELP_OF: dict[Callable[..., Any], str] = {
    fit_gbrff: """
    `validation_fraction`, `warm_start` and `columns="search"` are refused.
    """,
    fit_boosting: """
    `max_samples`, the rows of the descent of a Fourier term, is 16,384 by default; trees grow on eight times as many,
    and values of trees, linear functions and losses follow from all rows.  Kernel ridge regression is stacked as in the
    ordinary class: its rows come here, and workers solve its regions.  `warm_start` and `columns="search"` are refused.
    """,
    fit_kernel_ridge: """
    The model, which keeps all rows, is that of the rows of all partitions here, to the last bit; workers solve its
    regions side by side.
    """}

# Parameters that have other defaults than those of the ordinary classes.
_DEFAULTS: dict[Callable[..., Any], dict[str, Any]] = {fit_boosting: {"max_samples": 1 << 14}}

# Why families have no class here.
_ABSENT = {
    **dict.fromkeys(("DaskRFFNetClassifier", "DaskRFFNetRegressor"),
                    "RFFNet takes hundreds of steps a second, each with another batch of rows and new coefficients, "
                    "and would wait for the network in each"),
    **dict.fromkeys(("DaskSparseKernelClassifier", "DaskSparseKernelRegressor"),
                    "sparse kernel machines keep a column of all rows for each basis vector, and solve with them"),
    "DaskPBRFFClassifier": "the linear machine of PBRFF keeps the features of all rows",
}


def _client_of(client: Any) -> Any:
    """A client of a cluster, that of the context where None is given."""
    if client is None:
        current: Any = distributed.default_client
        try:
            client = current()
        except ValueError as error:
            raise InvalidInputError("client must be a dask.distributed.Client where there is no current one, got None"
                                    ) from error
    if not isinstance(client, distributed.Client):
        raise InvalidTypeError(f"client must be a dask.distributed.Client or None, got {type(client).__name__}")
    return client


Piece = tuple[Any, Any, Any]  # rows of a partition, with their targets and weights, not computed


def _run(client: Any, pieces: Sequence[Piece], function: Callable[..., Any], *arguments: Any,
         which: Sequence[int] | None = None) -> list[Any]:
    """What a function gives for partitions, where they are: a `PartitionRunner`."""
    chosen = range(len(pieces)) if which is None else which
    shared = [delayed(each, traverse=False) for each in arguments]
    futures = client.compute([delayed(function, pure=False)(k, *pieces[k], *shared) for k in chosen])
    try:
        return [gather(client, [future])[0] for future in futures]  # of which one may be large
    finally:
        client.cancel(futures)


def _pieces(X: Any, y: Any, sample_weight: Any, what: str) -> list[Piece]:
    """The partitions of a table, each with its targets and weights, not computed."""
    columns = {"X": X, "y": y, **({} if sample_weight is None else {"sample_weight": sample_weight})}
    for name, column in columns.items():
        if not is_dask_collection(column) or not hasattr(column, "to_delayed"):
            raise InvalidTypeError(f"{what}{name} must be a Dask array, data frame or series, got "
                                   f"{type(column).__name__}: dask.array.from_array makes one")
    found = {name: _blocks(column, f"{what}{name}") for name, column in columns.items()}
    for name, blocks in found.items():
        if len(blocks) != len(found["X"]):
            raise InvalidInputError(f"{what}{name} must have as many partitions as {what}X ({len(found['X'])}), got "
                                    f"{len(blocks)}: rechunk or repartition it")
    weights = found.get("sample_weight", [None] * len(found["X"]))
    return list(zip(found["X"], found["y"], weights, strict=True))


def _blocks(collection: Any, name: str) -> list[Any]:
    """Partitions of a collection along its rows."""
    if getattr(collection, "ndim", 2) not in (1, 2):
        raise InvalidInputError(f"{name} must have one or two dimensions, got {collection.ndim}")
    if hasattr(collection, "numblocks") and len(collection.numblocks) == 2 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})  # a row lies in one partition
    # Optimised, a column that is read from files by itself may lie in fewer partitions than the others.
    return list(np.ravel(collection.to_delayed(optimize_graph=not hasattr(collection, "map_partitions"))))


class _DaskModel:
    """A model that is trained on a cluster and is then an ordinary one."""

    _family: ClassVar[Any]
    _fit: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls, family: Any = None, fit: Callable[..., Any] = fit_gbrff) -> None:
        if family is not None:
            cls._family, cls._fit = family, staticmethod(fit)
            cls.__doc__ = (cls.__doc__ or "") + _HELP.format(family.__name__) + _HELP_OF[fit]

    def __init__(self, *args: Any, client: Any = None, **params: Any) -> None:
        self.client = client
        self._model = self._family(*args, **_DEFAULTS.get(self._fit, {}) | params)

    def __getattr__(self, name: str) -> Any:
        """Parameters and fitted attributes of the ordinary model."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._model, name)

    def __getstate__(self) -> dict[str, Any]:
        """A client stays where it is."""
        return vars(self) | {"client": None}

    def __repr__(self) -> str:
        return "Dask" + repr(self._model)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, those of the ordinary model and `client`."""
        return self._model.get_params(deep) | {"client": self.client}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and return self; InvalidInputError names one that does not exist."""
        if "client" in params:
            self.client = params.pop("client")
        self._model.set_params(**params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            eval_metric: None = None, callback: Callable[[RoundInfo], Any] | None = None) -> Self:
        """Learn from the rows of all partitions.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Its partitions stay on their workers, but for the sample of a round (`max_samples` rows, equal shares of all
            partitions).  Lengths need not be known; partitions without rows take no part.  Columns of words, dates and
            missing values are mapped as in the ordinary model; for this all rows are read once more.
        y, sample_weight : Dask arrays or series with the same partitions
        eval_set : (X, y) or (X, y, sample_weight) of such collections, a list or dict of such, or None
            As in the ordinary model.
        eval_metric : None
            Metrics of users are not computed on a cluster.
        callback : callable, optional
            As in the ordinary model: called after each round with a `RoundInfo`; returning anything true ends the fit.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad parameters or rows; the message names the partition.
        TrainingStateError
            Where a partition is lost with each worker that holds it.

        Notes
        -----
        The model depends on how rows are partitioned, not on the number of workers nor on what happens to them: a
        partition that is lost is computed anew, its predictions follow from the rounds so far, and bits are the same.
        """
        if eval_metric is not None:
            raise InvalidInputError("eval_metric must be None on Dask, where predictions stay on the workers: use the "
                                    "validation loss, or train the ordinary model")
        model = copy.copy(self._model)
        client = _client_of(self.client)
        with losses_named(client, "a partition of X"), ExitStack() as stack:

            def place(pieces: Sequence[Piece], what: str) -> DaskWorkers:
                workers = DaskWorkers(client, pieces, what, model._has_labels, model.n_jobs)
                stack.callback(workers.close)
                return workers

            sets = [] if eval_set is None else [(name, parts_of_set(each)) for name, each in named_sets(eval_set)]
            training = _pieces(X, y, sample_weight, "")
            evaluation = {name: _pieces(*rows, "eval_set ") for name, rows in sets}
            model._check_params()
            check_workers(client)
            mapped = fit_map(model, partial(_run, client, training))
            if mapped is not None:
                fitted_map, folds, column_map = (delayed(each, traverse=False) for each in (
                    mapped[0]._fitted_map(), mapped[1], mapped[0]))
                training = [(delayed(map_training_rows)(number, X, fitted_map, folds), *others)
                            for number, (X, *others) in enumerate(training)]
                evaluation = {name: [(delayed(map_other_rows)(number, X, column_map, type(model).__name__), *others)
                                     for number, (X, *others) in enumerate(pieces)]
                              for name, pieces in evaluation.items()}
            self._fit(model, place(training, ""), {name: place(each, "eval_set ") for name, each in evaluation.items()},
                      callback, None if mapped is None else mapped[0])
        self._model = model
        return self

    def to_local(self) -> Any:
        """Return the trained model as an ordinary one, which needs no Dask."""
        if not self._model.__sklearn_is_fitted__():
            raise not_fitted(type(self).__name__)
        return copy.copy(self._model)

    def predict(self, X: Any) -> Any:
        """Return the predictions for the rows of a Dask collection, not computed."""
        return predict(self._model, X)


class _DaskClassifier(_DaskModel):
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities for the rows of a Dask collection, not computed."""
        return predict_proba(self._model, X)

    def decision_function(self, X: Any) -> Any:
        """Return scores of the rows of a Dask collection, not computed."""
        return decision_function(self._model, X)


class _KernelRidge(_DaskModel):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learn from the rows of all partitions.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Rows are read twice: counted on their workers, and gathered here, because the model has all of them.
        y, sample_weight : Dask arrays or series with the same partitions

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad parameters or rows, and for more rows than the memory of this process has room for.
        TrainingStateError
            Where a region is lost with each worker that solves it.

        Notes
        -----
        Length scales and regions are chosen here, on at most 6,000 rows and on all.  The rows of a region, with those
        of its neighbours that it learns from, go to one worker; three regions for each thread of a worker are on their
        way at once.  This process takes n (40 d + 100) bytes for n rows of d columns, and a worker what
        `KernelRidgeClassifier` takes for the rows of one region.
        """
        model, client = copy.copy(self._model), _client_of(self.client)
        with losses_named(client, "a partition or region of X"):
            pieces = _pieces(X, y, sample_weight, "")
            model._check_params()
            check_workers(client)
            sizes = _run(client, pieces, lambda _, X, *others: (len(X), X.size))
            n_rows, n_numbers = map(sum, zip(*sizes, strict=True))
            n_bytes, limit = bytes_of_all_rows(n_rows, n_numbers // max(n_rows, 1)), distributed.system.MEMORY_LIMIT
            if n_bytes > limit:
                raise InvalidInputError(
                    "X must have rows that this process has memory for, because the model keeps all of them: "
                    f"{n_rows} rows, {n_numbers} numbers, take {n_bytes / 1e9:.3g} GB, and it has {limit / 1e9:.3g}: "
                    "train on a sample of them, or train DaskFourierBoosting* on all")
            parts = _run(client, pieces, lambda _, *piece: piece)
            rows, targets, weights = (_joined(each) for each in zip(*parts, strict=True))
            training = model._check_training(rows, targets, weights)
            with printing(model.verbose):
                model._keep(self._fit(
                    model, training, check_rng(model.random_state),
                    partial(solve_on_workers, client)))
        self._model = model
        return self


def _joined(parts: Sequence[Any]) -> Any:
    """The rows of all partitions, arrays or of pandas."""
    if parts[0] is None or isinstance(parts[0], np.ndarray):
        return None if parts[0] is None else np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts)


class DaskKernelRidgeClassifier(_KernelRidge, _DaskClassifier, family=KernelRidgeClassifier, fit=fit_kernel_ridge):
    """`KernelRidgeClassifier`, trained on Dask collections."""


class DaskKernelRidgeRegressor(_KernelRidge, family=KernelRidgeRegressor, fit=fit_kernel_ridge):
    """`KernelRidgeRegressor`, trained on Dask collections."""


class DaskFourierBoostingClassifier(_DaskClassifier, family=FourierBoostingClassifier, fit=fit_boosting):
    """`FourierBoostingClassifier`, trained on Dask collections."""


class DaskFourierBoostingRegressor(_DaskModel, family=FourierBoostingRegressor, fit=fit_boosting):
    """`FourierBoostingRegressor`, trained on Dask collections."""


class DaskGBRFF1Classifier(_DaskClassifier, family=GBRFF1Classifier):
    """`GBRFF1Classifier`, trained on Dask collections."""


class DaskGBRFF2Classifier(_DaskClassifier, family=GBRFF2Classifier):
    """`GBRFF2Classifier`, trained on Dask collections."""


class DaskGBRFFClassifier(_DaskClassifier, family=GBRFFClassifier):
    """`GBRFFClassifier`, trained on Dask collections."""


class DaskGBRFFRegressor(_DaskModel, family=GBRFFRegressor):
    """`GBRFFRegressor`, trained on Dask collections."""


def __getattr__(name: str) -> Any:
    """Say what to do instead of training a family that needs all rows in one process."""
    if name in _ABSENT:
        raise ImportError(f"rffkern.dask has no {name}: {_ABSENT[name]}.  Train {name.removeprefix('Dask')} on a "
                          "sample of the rows, X[chosen].compute(), and score all of them by partition: "
                          "rffkern.dask.predict(model, X)")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def predict(model: Model, X: Any) -> Any:
    """Return the predictions of any trained model of the package for the rows of a Dask collection, not computed.

    Parameters
    ----------
    model : trained model
        With `columns` of its own, if it has any: tables are mapped partition by partition.
    X : Dask array or data frame of shape (n_samples, n_features)

    Returns
    -------
    Dask array; of a data frame a series, or a data frame where there are several numbers in a row
    """
    return _scored(model, X, "predict")


def predict_proba(model: Model, X: Any) -> Any:
    """Return class probabilities like `predict`, shape (n_samples, n_classes)."""
    return _scored(model, X, "predict_proba")


def decision_function(model: Model, X: Any) -> Any:
    """Return scores like `predict`: (n_samples,) for two classes, (n_samples, n_classes) for more."""
    return _scored(model, X, "decision_function")


def _scored(model: Any, X: Any, method: str) -> Any:
    if not is_dask_collection(X):
        raise InvalidTypeError(f"X must be a Dask array or data frame, got {type(X).__name__}")
    model._check_fitted()
    if not hasattr(model, method):
        raise InvalidTypeError(f"model must have the method {method}, got {type(model).__name__}")
    if hasattr(X, "map_partitions"):
        return X.map_partitions(partial(_scored_frame, method), model, meta=_scored_frame(method, X._meta[:0], model))
    if X.ndim != 2:
        raise InvalidInputError(f"X must be a 2D array (n_samples, n_features): Expected 2D array, got {X.ndim}D")
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    score, example = partial(_scored_block, method), _example(model, method)
    if example.ndim == 1:
        return X.map_blocks(score, model, drop_axis=1, dtype=example.dtype, meta=example[:0])
    return X.map_blocks(score, model, chunks=(X.chunks[0], example.shape[1:]), dtype=example.dtype, meta=example[:0])


def _example(model: Any, method: str) -> NDArray[Any]:
    """An answer for one row, of zeros, in the form of all."""
    local = copy.copy(model)
    local.__dict__ = {name: value for name, value in vars(model).items() if name not in ("column_map_", "columns")}
    local.columns = None
    return np.asarray(getattr(local, method)(np.zeros((1, model.expansion_.n_features))))


def _scored_block(method: str, block: Any, model: Any) -> NDArray[Any]:
    """Answers for an array or a data frame, which may be empty."""
    if not len(block):
        return _example(model, method)[:0]
    return getattr(model, method)(block)


def _scored_frame(method: str, frame: Any, model: Any) -> Any:
    """Answers for a data frame, with its index: a series, or a data frame where there are several in a row."""
    import pandas as pd  # which Dask's data frames need

    answers = _scored_block(method, frame, model)
    if answers.ndim == 1:
        return pd.Series(answers, index=frame.index, name=method)
    classes = getattr(model, "classes_", np.arange(answers.shape[1]))
    return pd.DataFrame(answers, index=frame.index, columns=classes.tolist())
