"""The rounds in which ensembles grow side by side, and what they have in the end."""

from collections.abc import Sequence

from ..._estimator.monitor import Monitor
from .ensemble import Ensemble
from .stages import CoefficientPath


def grow_all(ensembles: Sequence[Ensemble], monitor: Monitor, names: Sequence[str] = (),
             so_far: Sequence[list[int]] = ()) -> list[list[int]]:
    """Grow all ensembles round by round; return how many weak learners each had after each round.

    `names` are those of the held-out sets, and `so_far` has the numbers after rounds that the monitor knows of.
    """
    def record() -> bool:
        train_loss, held_out = _mean_losses(ensembles)
        return monitor.record(train_loss, held_out[0] if held_out else None, dict(zip(names, held_out, strict=False)))

    counts = [*so_far]
    go_on = record() if not monitor.train_loss else not monitor.has_finished()
    while go_on:
        grown = [ensemble.grow() for ensemble in ensembles]
        if not any(grown):
            break
        counts.append([len(ensemble.learners) for ensemble in ensembles])
        go_on = record()
    return counts


def finish(ensembles: Sequence[Ensemble], counts: Sequence[int]) -> tuple[list[CoefficientPath], int]:
    """Refine the last coefficients; return the paths of the first weak learners, and how many were skipped."""
    paths, n_skipped, start = [], 0, 0
    for ensemble, n_learners in zip(ensembles, counts, strict=True):
        ensemble.refine()
        paths.append(ensemble.path(n_learners, slice(start, start + ensemble.n_outputs)))
        n_skipped += ensemble.n_skipped
        start += ensemble.n_outputs
    return paths, n_skipped


def _mean_losses(ensembles: Sequence[Ensemble]) -> tuple[float, list[float]]:
    """The mean loss over outputs, and that of each set of held-out rows."""
    n_outputs = sum(ensemble.n_outputs for ensemble in ensembles)
    held_out = zip(*(ensemble.eval_losses for ensemble in ensembles), strict=True)
    return sum(ensemble.loss for ensemble in ensembles) / n_outputs, [sum(losses) / n_outputs for losses in held_out]
