"""From rows of a table to the bytes of their predictions."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .._native.array_types import NDArray
from .table import Block, Reading, Rejected
from .writers import RowFormat


class Answer(NamedTuple):
    """What becomes of a block of rows."""

    n_rows: int  # that are predicted
    data: bytes  # their predictions as they are written
    labels: NDArray[Any] | None  # to compare them with
    predicted: NDArray[Any] | None  # the same predictions as values, where there are labels
    done: int  # how much of the table has been read
    rejected: list[Rejected]
    rounded: Sequence[int] = ()  # as in a Block


class Scorer(NamedTuple):
    """A model and how its predictions are written; it can be sent to other processes."""

    model: Any
    form: RowFormat
    proba: bool
    rows_of: Callable[[Block], Any] | None = None  # the rows that the model takes, where it takes more than numbers

    def answer(self, block: Block) -> Answer:
        """Predictions of a block."""
        if not len(block.X):
            return Answer(0, b"", None, None, block.done, block.rejected)
        rows = block.X if self.rows_of is None else self.rows_of(block)
        predicted, proba = self.model._labels_and_proba(rows) if self.proba else (self.model.predict(rows), None)
        data = self.form.rows(predicted, proba, block.words)
        scored = block.labels is not None
        return Answer(len(block.X), data, block.labels, predicted if scored else None, block.done, block.rejected,
                      block.rounded)

    def answers(self, reading: Reading) -> Iterator[Answer]:
        """Predictions of all blocks, in their order."""
        return map(self.answer, reading.blocks())
