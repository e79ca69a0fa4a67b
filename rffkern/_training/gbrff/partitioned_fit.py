"""From rows in partitions to a fitted model."""

from collections.abc import Mapping
from typing import Any

from ..distributed.partitions import PartitionBackend, check_tables, refuse_values
from .fit import Callback, Checked, Sources, train_on
from .partitioned import PartitionedRows


def fit_partitions(model: Any, training: PartitionBackend, held_out: Mapping[str, PartitionBackend],
                   callback: Callback | None) -> None:
    """Fit a boosted model on rows in partitions, which were opened by `open_partition`."""
    model._check_params()
    refuse_values(model, {"warm_start": [False], "validation_fraction": [None], "columns": ["auto", None]})
    tables = check_tables(model._has_labels, getattr(model, "class_weight", None), training, held_out)
    rows = PartitionedRows(tables.training, tables.evaluation, tables.center.size, model.n_jobs)
    checked = Checked(rows, tables.names, tables.classes, tables.center, tables.scale)
    model._keep(train_on(model, checked, model._recipe(), callback, Sources.of(model, None)))
