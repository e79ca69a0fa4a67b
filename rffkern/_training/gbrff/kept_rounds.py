"""Rounds of a trained model, told from its expansion: what a model that only scores needs of them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..._model.expansion import Expansion
from ..._model.parts import FourierTerms
from ..._native import scoring
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
    terms, n_outputs = expansion.fourier, expansion.n_outputs
    terms_per_stage = n_outputs * model.n_components_
    # A few stages are scored together, as outputs of one expansion that differ in how many terms they have.
    per_group = max(1, scoring.TERM_MULTIPLES[1] // terms_per_stage) * terms_per_stage
    total = np.tile(expansion.intercept, (X.shape[0], 1))
    for start in range(0, terms.n_terms, per_group):
        some = slice(start, start + per_group)
        stage_of_term = np.arange(len(terms.phases[some])) // terms_per_stage
        reached = stage_of_term[:, None] <= np.arange(stage_of_term[-1] + 1)
        amplitudes = (terms.amplitudes[some][:, None, :] * reached[:, :, None]).reshape(len(stage_of_term), -1)
        group = Expansion(np.zeros(amplitudes.shape[1]), expansion.center,
                          FourierTerms(terms.omegas[some], terms.phases[some], amplitudes))
        scores = group._scorer.score(X, model.n_jobs).reshape(X.shape[0], -1, n_outputs)
        for stage in range(scores.shape[1]):
            yield total + scores[:, stage]
        total = total + scores[:, -1]
