"""What every estimator shares: parameters, fitted attributes, raw scores and scikit-learn's protocol by duck typing."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from .._model.expansion import Expansion
from .._native.array_types import Double, NDArray
from .._protocol.parameters import Parametrised, not_fitted
from .._protocol.warning import each_once
from .._rows.row_blocks import RowBlocks
from .._rows.sparse_rows import SparseRows, is_sparse
from .._rows.validation import (
    check_array,
    check_names,
    check_sparse_rows,
    checked_place,
    feature_names,
    too_few_samples,
    warn_of_order,
)
from ..errors import InvalidInputError, TrainingStateError
from .parameters import COLUMN_MAP_, describe

if TYPE_CHECKING:  # a model that scores loads no training, and no map unless it has one
    from .._column_map.column_map import ColumnMap
    from .._column_map.fitted_map import FittedMap
    from .._rows.groups import Division
    from .._rows.training_rows import Training

Check = Callable[[Any, Any, Any], "Training"]  # of rows, labels or targets, and weights

# What a trial of a column map takes of these parameters at most.
_TRIAL_SIZES = {"n_estimators": 50, "max_epochs": 300, "n_restarts": 1}

# And what such a trial has no use for: its labels are others.
_TRIAL_PARAMS = {"class_weight": None, "warm_start": False, "max_seconds": None}


class Fitted(NamedTuple):
    """What training leaves, to be kept by an estimator."""

    names: NDArray[np.object_] | None  # of the columns
    classes: NDArray[Any] | None  # of a classifier
    expansion: Expansion
    attributes: Mapping[str, Any]  # fitted attributes of the family, by name
    training_state: Any = None  # what training goes on from, or earlier rounds are predicted from; not in model files
    column_map: Any = None  # fitted, where the expansion takes mapped rows
    reference: dict[str, Any] | None = None  # what is kept of training rows without a map; see `column_map_`


class Model(Parametrised):
    """Base of all estimators.

    A subclass stores its parameters unchanged in `__init__` and lists them, with their checks, in `_parameters`; `fit`
    ends in `_keep`, so that an interrupted fit leaves the object as it was.
    """

    family: ClassVar[str]  # the name of the family in files and on the command line
    _parts: ClassVar[tuple[str, ...]] = ("fourier",)  # that the expansion may have; none for any
    _has_labels: ClassVar[bool] = True  # whether y are labels
    _shrinks: ClassVar[bool] = False  # whether the number of terms is free, so that `shrink` may leave some out
    _keeps_map: ClassVar[bool] = False  # whether `warm_start` takes other rows, which the first map serves too
    _fitted_curves: ClassVar[tuple[str, ...]] = ()  # names of fitted 1-D arrays that belong in a model file
    _auto_forms: ClassVar[tuple[Any, ...] | None] = None  # of numbers, of a family that maps every table by default
    _trial_params: ClassVar[dict[str, Any]] = {}  # what `columns="search"` sets to compare column maps

    expansion_: Any
    n_features_in_: int
    column_map_: Any
    columns: Any
    standardize: bool = True
    n_jobs: int | None

    def __init_subclass__(cls) -> None:
        """Describe the parameters and attributes of the class of a family, which names it in `family`."""
        super().__init_subclass__()
        if "family" in vars(cls):
            cls._attributes = (*cls._attributes, COLUMN_MAP_)  # which `_keep` sets for every family
            describe(cls)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has ended."""
        return hasattr(self, "expansion_")

    def _repr_html_(self) -> str:
        """What a notebook shows: of a fitted model what it is, and the parameters."""
        parameters = super()._repr_html_()
        now = self._snapshot()
        if not now.__sklearn_is_fitted__():
            return parameters
        from .head import head_html

        return f"<div>{head_html(now)}{parameters}</div>"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        from sklearn.utils import InputTags, Tags, TargetTags  # only scikit-learn itself asks

        of_tables = self.columns is not None
        return Tags(estimator_type=None, target_tags=TargetTags(required=True),
                    input_tags=InputTags(allow_nan=of_tables, string=of_tables, categorical=of_tables, sparse=True))

    def _keep(self, fitted: Fitted) -> None:
        """Replace all attributes at once: an interrupt, or another thread, finds the old model or the new one."""
        new = vars(self) | {"expansion_": fitted.expansion, "n_features_in_": fitted.expansion.n_features}
        for name in ("metadata_", "_out_of_fold"):  # of the file that an earlier model comes from, or of its rows
            new.pop(name, None)
        new |= fitted.attributes
        # What scores mean: answers and files have the loss of the fit, whatever `set_params` says since.
        new["_minimised"] = {each.name: new[each.name] for each in self._parameters if each.name == "loss" or each.loss}
        if fitted.column_map is not None:
            new["n_features_in_"] = fitted.column_map.n_features_in_
        if self.columns is None and fitted.column_map is None:
            new.pop("column_map_", None)
        else:
            new["column_map_"] = fitted.column_map
        for name, value in (("feature_names_in_", fitted.names), ("classes_", fitted.classes),
                            ("_training_state", fitted.training_state), ("_reference", fitted.reference)):
            if value is None:
                new.pop(name, None)
            else:
                new[name] = value
        self.__dict__ = new

    def _check_fitted(self) -> None:
        if not hasattr(self, "expansion_"):
            raise not_fitted(type(self).__name__)

    def _require_training_state(self, purpose: str) -> Any:
        """What training left beside the function; TrainingStateError where there is none, as in a file."""
        self._check_fitted()
        if not hasattr(self, "_training_state"):
            raise self._without_training_state(purpose, "was read from a file", "call fit again")
        return self._training_state

    def _without_training_state(self, purpose: str, cause: str, remedy: str) -> TrainingStateError:
        return TrainingStateError(f"this {type(self).__name__} {cause}, which keeps the trained function but not what "
                                  f"is needed {purpose}: {remedy}")

    def _rounds_so_far(self) -> Any:
        """What `fit` with `warm_start` goes on from, or None."""
        return vars(self).get("_training_state")

    def _check_rows(self, X: Any) -> NDArray[Any]:
        """Rows to score, checked against what `fit` saw."""
        attributes = self.__dict__
        if "expansion_" not in attributes:
            self._check_fitted()
        column_map = attributes.get("column_map_")
        if column_map is not None:
            return column_map._transform(X, type(self).__name__)
        names = None if type(X) is np.ndarray else feature_names(X, attributes.get("feature_names_in_"))
        try:
            X = check_array(X)
        except InvalidInputError as error:
            from .._column_map.tables import has_missing

            if not has_missing(X):
                raise
            raise type(error)(f"{error}; training had no missing values: impute them, or train with "
                              "columns=ColumnMap(), which imputes them in any column") from error
        if names is not None or X.shape[1] != self.expansion_.n_features:
            self._check_columns(names, X.shape[1])
        return X

    def _check_columns(self, names: NDArray[np.object_] | None, n_features: int) -> None:
        """Refuse columns that are not those of `fit`."""
        check_names(names, getattr(self, "feature_names_in_", None))
        expected = self.expansion_.n_features  # after mapping
        if n_features != expected:
            raise InvalidInputError(f"X has {n_features} features, but {type(self).__name__} is expecting {expected} "
                                    "features as input")

    def _checked(self, check: Check, X: Any, y: Any, sample_weight: Any, eval_set: Any = None,
                 continues: bool | None = None, division: "Division | None" = None) -> "Training":
        """Training rows by a check, mapped where the model has columns mapped.

        The first map is used again where training goes on on other rows.
        """
        from .._rows.training_rows import with_eval_set

        with each_once():  # several steps read the same table
            warn_of_order(X, y)
            if self.columns is None:
                try:
                    return _with_reference(with_eval_set(check(X, y, sample_weight), eval_set))
                except InvalidInputError as error:
                    from .._column_map.tables import needs_map

                    if not needs_map(X):
                        raise
                    raise type(error)(f'{error}; columns="auto" takes missing values, text and dates') from error
            from .._column_map.column_map import map_rows
            from .._rows.groups import Division
            from .columns import map_eval_set, map_training

            owner = type(self).__name__
            continues = (self._keeps_map and getattr(self, "warm_start", False)) if continues is None else continues
            if continues and hasattr(self, "expansion_"):
                column_map = vars(self).get("column_map_")
                mapped = X if column_map is None else map_rows(column_map, X, owner)
            else:
                mapped, column_map = map_training(self, X, y, sample_weight, division or Division())
            if column_map is None:
                return _with_reference(with_eval_set(check(mapped, y, sample_weight), eval_set))
            if eval_set is not None:
                eval_set = map_eval_set(column_map, eval_set, owner)
            training = with_eval_set(check(mapped, y, sample_weight), eval_set)
            return training._replace(names=getattr(column_map, "feature_names_in_", None), column_map=column_map)

    def _imputes(self) -> bool:
        """Whether missing values may be imputed from other columns."""
        return True

    def _default_map(self) -> "ColumnMap":
        """The map, not fitted, that `columns="auto"` takes where a table needs one."""
        from .._column_map.column_map import ColumnMap

        return ColumnMap(self._auto_forms or (("standard",) if self.standardize else ("raw",)))

    def _auto_map(self, X: Any) -> "ColumnMap | None":
        """The map, not fitted, that `columns="auto"` stands for; None for a table of complete numeric columns."""
        from .._column_map.tables import is_complete_numeric

        return None if self._auto_forms is None and is_complete_numeric(X) else self._default_map()

    def _trial_copy(self, standardize: bool) -> Any:
        """An untrained model that trains fast and answers like this one, to compare column maps by."""
        params = self.get_params(deep=False)
        if params.get("warm_start") and "n_estimators" in params:
            params["n_estimators"] = None  # more rounds, asked for later, must not change the choice
        params |= {name: limit if params[name] is None else min(params[name], limit)
                   for name, limit in _TRIAL_SIZES.items() if name in params}
        params |= {name: 0 for name in ("random_state", "verbose") if name in params}
        fixed = {**_TRIAL_PARAMS, **self._trial_params, "columns": None, "standardize": standardize}
        return type(self)(**params | {name: value for name, value in fixed.items() if name in params})

    def _losses_of_rows(self, X: Any, y: Any) -> Double:
        """A loss of each row, by which column maps are compared."""
        raise NotImplementedError

    @classmethod
    def _params_for_file(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters in such a form that JSON can hold them."""
        return params

    @classmethod
    def _params_of_file(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters from what JSON makes of those of `_params_for_file`; it has no tuples, and no keys but words."""
        return params

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
        """Fitted attributes of a model read from a file beyond the expansion and `arrays`, its `_fitted_curves`.

        ValueError if the parts contradict each other.
        """
        return {}

    def _snapshot(self) -> Self:
        """A copy that stays as it is now; it gives every public answer, because another thread may fit meanwhile."""
        copied = object.__new__(type(self))
        copied.__dict__ = self.__dict__ | self.__dict__.get("_minimised", {})
        return copied

    def drift(self, X: Any) -> dict[str, Any]:
        """Return how the rows of X differ from the training rows, column by column.

        Parameters
        ----------
        X : table, or RowBlocks
            Rows with the columns of `fit`.

        Returns
        -------
        dict
            "rows", "training_rows", "largest_shift", "largest_shift_of", and "columns", a list with a dict for each
            column that has values in training: "column", "kind"; "shift", the population stability index over ten bins
            by quantiles, or over levels, and missing values, less what chance adds to it in so many rows; "missing"
            and "missing_in_training", shares of the rows; "outside", the share of values outside of "range"; "new", the
            share of rows with levels that training had not, "n_new_levels" and some of these with their rows,
            "new_levels".  Of categories with more than 200 levels new ones are not known.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If the model has no column map, or comes from a file without a reference, or X is not what `fit` saw.
        """
        now = self._snapshot()
        now._check_fitted()
        from .columns import drift_of

        return drift_of(vars(now).get("column_map_"), X, type(self).__name__)

    def _keep_record(self, record: dict[str, Any]) -> None:
        """Replace what is known of rows that the model was not trained on."""
        self.__dict__ = vars(self) | {"_out_of_fold": record}

    def _target_rule(self) -> str:
        """How targets follow from scores: "scores", "means" of which they are logarithms, or the "least" of them."""
        return "scores"

    def _raw_scores(self, X: Any) -> Double:
        """Scores of the expansion of a snapshot, shape (n_samples, n_outputs)."""
        if type(X) not in (np.ndarray, SparseRows) and is_sparse(X):
            return self._sparse_scores(SparseRows.of(X))
        if isinstance(X, RowBlocks):
            scores = [self._raw_scores(block) for block in X._raw_blocks()]
            if not scores:
                raise too_few_samples("X", "blocks with 0 sample(s) in all", 1)
            return np.concatenate(scores)
        attributes = self.__dict__
        column_map = attributes.get("column_map_")
        if column_map is not None:
            from .columns import score_table

            return score_table(column_map, self.expansion_, X, type(self).__name__, self.n_jobs)
        expansion = attributes.get("expansion_")  # one row must cost little more than its score
        scored: Double | None = None if expansion is None else expansion._scorer.score_few(X)
        if scored is None:
            X = self._check_rows(X)  # or says that there is no expansion
            scored = self.expansion_._scorer.score(X, self.n_jobs)
        return scored

    def _sparse_scores(self, rows: SparseRows) -> Double:
        """The same of sparse rows: as they are where that is faster, or made dense block by block."""
        self._check_fitted()
        if vars(self).get("column_map_") is None:
            names = feature_names(rows, vars(self).get("feature_names_in_"))
            if names is not None or rows.n_columns != self.expansion_.n_features:
                self._check_columns(names, rows.n_columns)
            rows = check_sparse_rows(rows, "X")
            scores = self.expansion_._score_sparse(rows, self.n_jobs) if len(rows) else None
            if scores is not None:
                return scores
        return np.concatenate([self._raw_scores(block) for block in rows.blocks()])


def _with_reference(training: "Training") -> "Training":
    """The same with what a model keeps of its training rows where no map does."""
    from .._column_map.drift import reference_of_rows

    return training._replace(reference=reference_of_rows(training.rows.X, training.rows.weights))


def fitted_map_of(model: Any) -> "FittedMap | None":
    """The fitted map of the columns of a model; None where it takes rows as they are."""
    column_map = getattr(model, "column_map_", None)
    return None if column_map is None else column_map._fitted_map()


def index_of(model: Any, what: str, column: Any) -> int:
    """Index of a column of a model that is named, or numbered from 0."""
    names = getattr(model, "feature_names_in_", None)
    if isinstance(column, str) and names is not None and column in names:
        return int(np.flatnonzero(names == column)[0])
    is_index = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
    if is_index and 0 <= column < model.n_features_in_:
        return checked_place(what, int(column), None if names is None else names.tolist())
    named = "the name of one column or " if names is not None else "the index of one column, as fit saw no names, "
    raise InvalidInputError(f"{what} must be {named}an integer from 0 to {model.n_features_in_ - 1}, got {column!r}")
