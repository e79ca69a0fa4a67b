"""What boosting asks of training rows, wherever they are."""

from typing import Any, Protocol, TypeVar

Term = TypeVar("Term", contravariant=True)


class TrainingRows(Protocol[Term]):
    """Rows with the scores of a model in training, in this process or in partitions elsewhere.

    Boosting needs nothing of rows but these steps and the sample that a term is fitted to, and does not know where they
    are.  Each sum over rows is added in a fixed order, so that neither threads nor machines change a bit.
    """

    def set_direction(self, term: Term) -> None:
        """Let the next steps go along a term."""

    def best_step(self) -> float:
        """The multiple of the direction to add, by the loss of the training rows."""

    def add_step(self, step: float) -> Any:
        """Add step times the direction to the scores; losses become those of the new scores."""

    @property
    def scores(self) -> Any:
        """What training goes on from with `warm_start`; None where rows are in partitions."""

    def restore(self, scores: Any) -> Any:
        """Take the `scores` that the same rows had before, which stay as they are."""
