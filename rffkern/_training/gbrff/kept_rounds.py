"""Rounds of a trained model, told from its expansion: what a model that only scores needs of them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..._native.array_types import NDArray

Double = NDArray[np.float64]


def restored_rounds(expansion: Any, curves: Mapping[str, Double], n_components: int = 1) -> dict[str, Any]:
    """Fitted attributes that follow from a file's expansion and loss curves; ValueError if they contradict."""
    n_rounds, left_over = divmod(expansion.n_terms, expansion.n_outputs * n_components)
    train_loss, eval_loss = curves["train_loss_"], curves["eval_loss_"]
    if (left_over or train_loss.ndim != 1 or eval_loss.ndim != 1 or eval_loss.size not in (0, train_loss.size)
            or n_rounds != (eval_loss.argmin() if eval_loss.size else train_loss.size - 1)):
        raise ValueError("rounds and loss curves do not agree in number")
    return {"n_estimators_": n_rounds, "n_components_": n_components}


def staged_scores(model: Any, X: Any) -> Iterator[Double]:
    """Yield the scores of a snapshot after each round kept, (n_samples, n_outputs)."""
    X, expansion = model._check_rows(X), model.expansion_
    yield from expansion.staged_score(X, expansion.n_outputs * model.n_components_, n_jobs=model.n_jobs)
