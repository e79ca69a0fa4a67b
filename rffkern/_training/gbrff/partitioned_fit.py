"""From rows in partitions to a fitted model."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..distributed.checks import check_tables, refuse_others
from ..distributed.partitions import Engine
from .fit import Callback, Checked, Sources, train_on
from .partitioned import PartitionedRows


def fit_partitions(model: Any, training: Engine, held_out: Mapping[str, Engine], callback: Callback | None) -> None:
    """Fit a boosted model on rows in partitions, which were opened by `open_partition`."""
    model._check_params()
    refuse_others(model, {"warm_start": [False], "validation_fraction": [None], "columns": [None]})
    names, table, sets, targets = check_tables(model._has_labels, getattr(model, "class_weight", None), training,
                                               held_out)
    scale = 1 / np.where(targets.inverse_scale > 0, targets.inverse_scale, 1.0)
    checked = Checked(PartitionedRows(table, sets, scale.size, model.n_jobs),
                      None if names is None else np.array(names, dtype=object), targets.classes, targets.center, scale)
    model._keep(train_on(model, checked, model._recipe(), callback, Sources.of(model, None)))
