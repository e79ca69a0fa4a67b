"""`ColumnMap`: any table to columns of numbers."""

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from .._native.array_types import Double, NDArray
from .._protocol.arguments import Auto, Check, choice, distinct, has_members, number
from .._protocol.docstrings import Attribute, Parameter, describe
from .._protocol.parameters import Parametrised, not_fitted
from .._protocol.set_output import check_input_features, contained, set_output
from .._protocol.warning import warn
from .._rows.groups import Division
from .._rows.row_blocks import RowBlocks
from .._rows.validation import (
    as_numeric,
    check_labels,
    check_targets,
    is_printable,
    refuse_masked,
    to_array,
    too_few_samples,
)
from .._rows.weights import check_weights
from ..errors import ColumnWarning, InvalidInputError
from .cells import EMPTY
from .compiled import CompiledMap
from .fitted_column import NUMERIC_FORMS
from .fitted_map import FittedMap, OutOfFold, RowFolds
from .tables import check_table, in_blocks, table_blocks

if TYPE_CHECKING:  # not needed where rows are mapped
    from .learning import StatisticsCollector


NumericForm: TypeAlias = Literal["raw", "standard", "bounded", "rank", "bins"]
DateOrder: TypeAlias = Literal["auto", "dmy", "mdy"]
DateParts: TypeAlias = Literal["auto", "differences"] | bool


def _check_features(name: str, value: Any) -> None:
    """Accept names or indices of columns, or None."""
    entries = value.tolist() if isinstance(value, np.ndarray) else value
    if entries is not None and (not isinstance(entries, (list, tuple)) or any(
            not isinstance(entry, (str, int, np.integer)) or isinstance(entry, bool) for entry in entries)):
        raise InvalidInputError(f"{name} must be a list of names or indices of columns, or None, got {value!r}")


# What a pass over the training rows finds: the map, the out-of-fold target statistics of these rows, and the reference
# by which `drift` compares other rows with them.
FitResult: TypeAlias = tuple[FittedMap, OutOfFold, dict[str, Any]]


class ColumnMap(Parametrised):
    """Any table to columns of numbers: missing values, categories, dates and skewed columns.

    A table is an array, a list of rows, a dict of columns or a table of pandas, polars or pyarrow.  Booleans and
    categories of these packages are categories.  Columns of text are numbers, dates or categories, by the rules of the
    command line (docs/tables.md).  One pass over the rows learns what each column becomes; quantiles come
    from a sketch of bounded memory.

    Each numeric column takes the forms that `numeric` names:

    - "raw": as it is;
    - "standard": mean 0, variance 1;
    - "bounded": z / sqrt(1 + z^2), where z is the distance from the median in robust deviations;
    - "rank": mid-rank, by linear interpolation between at most `n_knots` values;
    - "bins": indicators of `n_bins` quantile bins.

    Over the training rows with a value, all forms but "raw" have mean 0 and variance 1, those of several outputs
    together, and with F forms each is divided by sqrt(F): a column is one unit.  A category becomes indicators of its
    levels, in one unit; rare levels are one level.  Beyond `max_levels` levels that are not rare, or where rare ones of
    two rows or more have half of the rows, it becomes target statistics, the mean of y of each level of two rows or
    more, shrunk towards the mean of all by a weight that held-out folds choose, and the logarithm of the number of its
    rows.  Where rows of rare levels are a tenth or more, as in columns of names or of free text, it also becomes the
    prediction of y by ridge regression on n-grams of its words and letters, if that is better than the mean.  Groups of
    repeated measurements, such as the subjects of a trial or the firms of a panel, have an indicator each, however few
    rows they have: a category with 1.1 to 15 rows of each level on average, an intraclass correlation of y, the share
    of its variance that is between levels, of at least 1/2, and at most 2,000,000 indicators, levels times rows.  With
    more it has target statistics, of levels of one row too.  Dates also become the parts that `date_parts` says.

    Missing values (None, NaN, NA, NaT) become 0, the mean.  Where training has any, there is also an indicator of them,
    1 or 0 less its mean, and they are imputed from the other columns where these explain at least 1 % of the variance:
    each output from at most 8 outputs of these, by ridge regression on a sample of at most 2,048 rows.

    Columns that are constant, equal to an earlier one or without any value, and categories of more than 100,000 levels,
    or whose levels are all rare and of which no n-grams predict y, are dropped.

    {parameters}

    Notes
    -----
    Where training and scoring both have column names, columns are found by name, in any order, and further columns are
    ignored; otherwise by position.  Levels that training did not have count as rare, or as missing where no level was
    rare.  Infinite values are refused.  Dates are seconds since 1970, in UTC; times of day
    and intervals are seconds too.

    `fit_transform` and `fit(X).transform(X)` differ in target statistics and texts: the former computes those of a row
    from the rows of four of five folds, the rows with other remainders of their index modulo 5, or of a hash of it
    where most levels would be in one fold.

    The rank that the sketch estimates for a value is off by at most (2 + log2(max(1, n / 4096))) / 4096 for n rows, and
    exact for columns of at most 2048 distinct values.

    Examples
    --------
    >>> from rffkern import ColumnMap
    >>> table = {"size": [1.0, None, 3.0, 2.0], "colour": ["red", "blue", "red", "blue"]}
    >>> map = ColumnMap(min_level_rows=1).fit(table)
    >>> map.get_feature_names_out().tolist()
    ['size_standard', 'size_missing', 'colour=blue']
    >>> map.transform({"colour": ["green"], "size": [2.0]})[0, [0, 2]].tolist()
    [0.0, 0.0]
    """

    _parameters = (
        Parameter("numeric", distinct("forms", tuple(NUMERIC_FORMS)), "The forms of numeric columns and dates."),
        Parameter("categorical_features", Check("sequence of names or indices of columns, or None", _check_features),
                  "Columns of numbers that are categories."),
        Parameter("max_levels", number(int, 1, 10**5),
                  "A category of more levels that are not rare becomes target statistics; without y, the most frequent "
                  "levels keep their indicators, and the others count as rare."),
        Parameter("min_level_rows", number(int, 1, word="auto"),
                  'Levels of fewer rows are rare.  "auto" is 5, and 1 for groups of repeated measurements.  Rows count '
                  "by their weight, unless the mean weight is below 1."),
        Parameter("n_knots", number(int, 2, 10**4), 'Number of knots of the form "rank" at most.'),
        Parameter("n_bins", number(int, 2, 1000), 'Number of bins of the form "bins" at most.'),
        Parameter("dates", choice("auto", "dmy", "mdy"),
                  "The order of day and month in dates such as 3/4/2024 where both would do; \"auto\" takes that of "
                  "other columns, else months first with a warning."),
        Parameter("date_parts", choice("auto", "differences", True, False),
                  "Whether dates also become sine and cosine of the time of day, the day of the week and that of the "
                  "year; \"auto\" takes those of which training covers two days, two weeks or a year; \"differences\" "
                  "takes these, and the time since the date in the column of dates before."),
    )
    _attributes = (
        Attribute("n_features_in_", "int",
                  "Number of columns; `feature_names_in_` has their names where `fit` saw any."),
        Attribute("sources_", "array of int", "For each output the index of its column."),
        Attribute("forms_", "array of str", "For each output its form."),
    )

    _fitted: FittedMap
    _compiled: CompiledMap | None  # the same in compiled code, if all columns are numbers
    n_features_in_: int

    _reference: dict[str, Any] | None  # of the training rows; None in a file that has none

    def __init__(self, numeric: Sequence[NumericForm] = ("standard",), *,
                 categorical_features: Sequence[Any] | None = None, max_levels: int = 32,
                 min_level_rows: int | Auto = "auto", n_knots: int = 256, n_bins: int = 16, dates: DateOrder = "auto",
                 date_parts: DateParts = "auto") -> None:
        self.numeric = numeric
        self.categorical_features = categorical_features
        self.max_levels = max_levels
        self.min_level_rows = min_level_rows
        self.n_knots = n_knots
        self.n_bins = n_bins
        self.dates = dates
        self.date_parts = date_parts

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has ended."""
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags  # only scikit-learn itself asks

        return Tags(estimator_type=None, target_tags=TargetTags(required=False), transformer_tags=TransformerTags(),
                    input_tags=InputTags(allow_nan=True, string=True, categorical=True, sparse=True))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows of a table.

        Parameters
        ----------
        X : table, or RowBlocks of tables
            Read once; where there are target statistics, again for copies of rows, which are in the same fold.  A
            `numpy.memmap` is read block by block.
        y : array of shape (n_samples,) or (n_samples, n_targets), or None
            For target statistics: numbers, or labels, of which each becomes an indicator.
        sample_weight : array of shape (n_samples,) or None
            Weights >= 0; rows of weight 0 count for nothing.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments, infinite values, or columns of several kinds of values; the message names which.
        """
        fitted_map, _, reference = self._fit_rows(X, _targets_of(y), sample_weight)
        self._keep(fitted_map, reference)
        warn_of_columns(self._fitted)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from the rows of a table and return them mapped; target statistics are those of other folds."""
        fitted_map, folds, reference = self._fit_rows(X, _targets_of(y), sample_weight)
        mapped = fitted_map.apply(fitted_map.read(X, type(self).__name__), folds)
        self._keep(fitted_map, reference)
        warn_of_columns(self._fitted)
        return contained(self, mapped, fitted_map.output_names, X)

    def transform(self, X: Any) -> Any:
        """Return the rows of a table mapped.

        Parameters
        ----------
        X : table

        Returns
        -------
        float64 array of shape (n_samples, n_outputs), or what `set_output` says

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X lacks a column, has infinite values, or another kind of values than training had in a column.
        """
        fitted_map = self._fitted_map()
        in_double = X.astype(np.float64) if _is_single(X) else X
        mapped = self._transform(in_double, type(self).__name__)
        return contained(self, mapped, fitted_map.output_names, X)

    set_output = set_output

    def _transform(self, X: Any, owner: str, name: str = "X", n_threads: int | None = None) -> NDArray[Any]:
        """Map rows for an estimator, whom errors name; float32 rows give a float32 array."""
        fitted_map = self._fitted_map()
        mapped = None if self._compiled is None else self._compiled.map(X, n_threads)
        if mapped is None:
            mapped = _like(X, fitted_map.apply(check_table(fitted_map.read(X, owner, name), name)))
        return mapped

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for each output: that of its column and its form or level."""
        fitted_map = self._fitted_map()
        check_input_features(input_features, fitted_map.names, len(fitted_map.columns))
        names = None if input_features is None else tuple(map(str, input_features))
        renamed = fitted_map if names is None else fitted_map._replace(names=names)
        return np.array(renamed.output_names(), dtype=object)

    def describe(self) -> list[dict[str, object]]:
        """Return what became of each column, as rows of a table: one for each form, or one if the column is dropped.

        Each row has "column", "kind" ("numeric", "category", "date" or "empty"), "form" and what is known of it, or the
        "reason" why it is dropped.
        """
        return self._fitted_map().describe()

    def _fitted_map(self) -> FittedMap:
        fitted_map = getattr(self, "_fitted", None)
        if fitted_map is None:
            raise not_fitted(type(self).__name__)
        return fitted_map

    def _fit_rows(self, X: Any, targets: Double | None, sample_weight: Any,
                  division: Division | None = None, imputes: bool = True) -> FitResult:
        """Pass over the rows; a division says in which folds they are, where it has no groups copies are in one."""
        from .copies import copies_as_groups
        from .learning import N_FOLDS, collect_statistics  # not needed where rows are mapped

        self._check_params()
        weights = None if sample_weight is None else _weights_of(sample_weight)
        division = division or Division()
        row_folds = None
        if targets is not None and (division.order != "random" or division.groups is not None):
            row_folds = RowFolds(division.folds(len(targets), N_FOLDS))
        collector = collect_statistics(functools.partial(self._collect, X, targets, weights), self.get_params(),
                                       row_folds)
        fitted_map, folds, reference = self._learned(collector, imputes)
        if targets is not None and row_folds is None and any(folds.tables):  # forms have learned from targets
            kinds = {j: column.kind for j, column in enumerate(fitted_map.columns) if column.forms}
            copies = copies_as_groups(lambda: table_blocks(X, self.categorical_features, self.dates), kinds, targets,
                                      np.ones(len(targets)) if weights is None else weights)
            if copies is not None:
                return self._fit_rows(X, targets, sample_weight, division._replace(groups=copies), imputes)
        return fitted_map, folds, reference

    def _collect(self, X: Any, targets: Double | None, weights: Double | None,
                 row_folds: RowFolds) -> "StatisticsCollector":
        """The statistics of all rows."""
        from .learning import StatisticsCollector  # not needed where rows are mapped

        collector: StatisticsCollector | None = None
        for table, start in table_blocks(X, self.categorical_features, self.dates):
            if collector is None:
                n_outputs = 0 if targets is None else targets.shape[1]
                collector = StatisticsCollector(table.names, len(table.columns), n_outputs, row_folds)
            rows = slice(start, start + table.n_rows)
            n_rows = f"{rows.stop} or more" if isinstance(X, RowBlocks) else f"{rows.stop}"  # of X
            values = _rows_of(targets, rows, "y", np.empty((table.n_rows, 0)), n_rows)
            collector.add(table, _rows_of(weights, rows, "sample_weight", np.ones(table.n_rows), n_rows), values)
        if collector is None:
            raise too_few_samples("X", "blocks with 0 sample(s) in all", 1)
        collector.finish()
        for name, array in (("y", targets), ("sample_weight", weights)):
            if array is not None and len(array) != collector.n_rows:
                raise InvalidInputError(f"{name} must have one entry per row of X ({collector.n_rows}), got "
                                        f"{len(array)}")
        return collector

    def _learned(self, collector: "StatisticsCollector", imputes: bool) -> FitResult:
        """What follows from the statistics of all training rows."""
        from .drift import Reference
        from .learning import build_map

        fitted_map, folds = build_map(collector, self.get_params(), imputes)
        reference = Reference.of(collector.statistics, collector.weight, collector.n_positive)
        if fitted_map.columns[0].kind == EMPTY:  # in place of all columns; its values are not read
            reference.columns[0] = None
        return fitted_map, folds, reference.to_json()

    def _keep(self, fitted_map: FittedMap, reference: dict[str, Any] | None) -> None:
        """Replace all attributes at once."""
        new = vars(self) | {"_fitted": fitted_map, "_compiled": CompiledMap.of(fitted_map.columns),
                            "_reference": reference}
        new["n_features_in_"] = len(fitted_map.columns)
        n_outputs = [len(column.outputs) for column in fitted_map.columns]
        new["sources_"] = np.repeat(np.arange(len(n_outputs)), n_outputs)
        new["forms_"] = np.array([form for column in fitted_map.columns for form, _ in column.outputs])
        new.pop("feature_names_in_", None)
        if fitted_map.names is not None:
            new["feature_names_in_"] = np.array(fitted_map.names, dtype=object)
        self.__dict__ = new


describe(ColumnMap, {})


def warn_of_columns(fitted_map: FittedMap) -> None:
    """Warn once of all columns that are not used, and of those that no model file can hold: which, why, what to do."""
    from .learning import words_on_dropped  # not needed where rows are mapped

    dropped = words_on_dropped(fitted_map.describe(), repr)
    if dropped:
        warn(f"columns that are not used: {dropped}", ColumnWarning)
    odd = [f"{name!r} ({text!r})" for name, column in zip(fitted_map.column_names(), fitted_map.columns, strict=True)
           for text in column.kept_texts if not is_printable(text)]
    if odd:
        warn("control characters in texts, which no model file can hold: replace them before the fit if the "
             f"model is to be saved, in columns {', '.join(odd[:3])}", ColumnWarning)


def _is_single(X: Any) -> bool:
    """Whether rows are an array, or sparse, of float32; not a data frame, of which `dtype` may be a column."""
    return not has_members(X, "iloc") and getattr(X, "dtype", None) == np.float32


def _like(X: Any, mapped: Double) -> NDArray[Any]:
    """Mapped rows in the precision of the raw ones."""
    return mapped.astype(np.float32) if _is_single(X) else mapped


def map_rows(column_map: ColumnMap, X: Any, owner: str, name: str = "X") -> Any:
    """Rows of a table or of RowBlocks by the fitted map of an owner, whom errors name."""
    X = in_blocks(X)
    if not isinstance(X, RowBlocks):
        return column_map._transform(X, owner, name)
    return RowBlocks(lambda: (column_map._transform(block, owner, name) for block in X._raw_blocks()))


def fit_copy(column_map: ColumnMap, X: Any, y: Any, sample_weight: Any, has_labels: bool,
             division: Division | None = None, imputes: bool = True, n_threads: int | None = 1
             ) -> tuple[ColumnMap, Any]:
    """A copy of a map that is fitted on training rows, and these rows mapped: an array, or RowBlocks.

    The map itself is not changed.  Missing values are imputed from other columns, or become the mean.
    """
    X = in_blocks(X)
    fitted = ColumnMap(**column_map.get_params())
    fitted_map, folds, reference = fitted._fit_rows(X, _targets_of(y, has_labels), sample_weight, division,
                                                      imputes)
    fitted._keep(fitted_map, reference)

    def mapped(block: Any, first_row: int) -> NDArray[Any]:
        rows = None if fitted._compiled is None else fitted._compiled.map(block, n_threads)  # without target statistics
        if rows is None:
            rows = _like(block, fitted_map.apply(fitted_map.read(block, "the training"), folds, first_row))
        return rows

    if not isinstance(X, RowBlocks):
        return fitted, mapped(X, 0)

    def read() -> Iterator[NDArray[Any]]:
        first_row = 0
        for block in X._raw_blocks():
            yield (rows := mapped(block, first_row))
            first_row += len(rows)

    return fitted, RowBlocks(read)


def _rows_of(array: Double | None, rows: slice, name: str, default: Double, n_rows: str) -> Double:
    """Some rows of what comes beside X, which has so many rows."""
    if array is None:
        return default
    if len(array) < rows.stop:
        raise InvalidInputError(f"{name} must have one entry per row of X ({n_rows}), got {len(array)}")
    return array[rows]


def _weights_of(sample_weight: Any) -> Double:
    """Checked weights, in their own units."""
    array = np.asarray(as_numeric(sample_weight, "sample_weight"), dtype=np.float64)
    if array.ndim == 0:
        raise InvalidInputError(f"sample_weight must be a 1d array with one entry per row of X, got {sample_weight!r}")
    if array.size:  # no rows are refused as such
        check_weights(array, len(array))
    return array.reshape(-1)


def _targets_of(y: Any, has_labels: bool | None = None) -> Double | None:
    """Targets of the statistics of levels, (n_samples, n_outputs), in units in which their sums are finite.

    Whether y holds labels is known of a model; of a map alone (None) its type says so.
    """
    if y is None:
        return None
    refuse_masked(y, "y")
    array = to_array(y, "y")
    if array.dtype.kind == "c":
        raise InvalidInputError(f"y must be real. Complex data not supported, got dtype {array.dtype}")
    if array.shape[:1] == (0,):
        return np.empty((0, 1))  # which is too few
    n_samples = len(np.atleast_1d(array))
    if (array.dtype.kind not in "iuf") if has_labels is None else has_labels:
        y = array.ravel() if array.shape == (n_samples, 1) else array  # of which the check of training rows warns
        classes, codes = check_labels(y, n_samples)
        return class_indicators(codes, len(classes))
    values = check_targets(array, n_samples)
    return values / unit_of(np.abs(values).max(axis=0, initial=0.0))


def unit_of(largest: Double) -> Double:
    """The power of two by which targets up to some size are divided."""
    return np.ldexp(1.0, np.frexp(largest)[1])


def class_indicators(codes: NDArray[np.intp], n_classes: int) -> Double:
    """Targets of classes: of two an indicator of the second, of more one of each."""
    positive = range(1, 2) if n_classes == 2 else range(n_classes)
    return (codes[:, None] == np.array(positive)).astype(np.float64)
