"""Whether a kernel ridge regression is stacked on the terms, and why: numbers for files, a report for users."""

from enum import IntEnum
from typing import NamedTuple, Self

import numpy as np

from ..._model.regions import MOST_ROWS
from ..._native.array_types import NDArray

Double = NDArray[np.float64]

# By how much kernel ridge regression must lower the loss of held-out rows: by this share of it, and by this many
# standard errors of the mean difference.  The margins held out are those of single bags, whose mean is better by
# itself.
LEAST_SHARE, STANDARD_ERRORS = 0.03, 2.0

# What "auto" tries it for: operations that computing the kernels of n rows of d columns takes where they are learned
# from together, n^2 (2 d + 16); and numbers n d, which the model holds.  Fewer rows than the last number cannot be
# divided into folds.
FEWEST_ROWS, MOST_WORK, MOST_NUMBERS, FEWEST_AT_ALL = 200, 5e10, 5_000_000, 10


class Reason(IntEnum):
    """Why kernel ridge regression is used or not; the numbers are those of files."""

    OFF = 0
    LOSS = 1
    FEW = 2
    MANY = 3
    STOPPED = 4
    LITTLE = 5
    PARTITIONS = 6
    GAINS = 7
    ASKED = 8


_SENTENCES = {
    Reason.OFF: "not used: kernel_ridge=False",
    Reason.LOSS: "not used: the loss is neither log loss nor squared error",
    Reason.FEW: f"not used: fewer than {FEWEST_ROWS} rows, or {FEWEST_AT_ALL} with kernel_ridge=True",
    Reason.MANY: f"not used: n d above {MOST_NUMBERS:.0e} for n rows of d mapped columns, or n^2 (2 d + 16) above "
                 f"{MOST_WORK:.0e} for up to {MOST_ROWS} rows",
    Reason.STOPPED: "not used: the callback ended the fit",
    Reason.LITTLE: f"not used: validation loss {{alone:.6g}} without it, {{stacked:.6g}} with it, not lower by "
                   f"{LEAST_SHARE:.0%} and {STANDARD_ERRORS:.0f} standard errors",
    Reason.GAINS: "used: validation loss {alone:.6g} without it, {stacked:.6g} with it",
    Reason.PARTITIONS: "not used: the rows are in partitions",
    Reason.ASKED: "used: kernel_ridge=True; validation loss {alone:.6g} without it, {stacked:.6g} with it",
}
_USED = (Reason.GAINS, Reason.ASKED)


class KernelRidgeReport(NamedTuple):
    """What was decided on kernel ridge regression beside the terms; numbers are None where it was not tried."""

    kept: bool
    reason: str  # a sentence
    loss_without: float | None  # mean loss of the rows that neither it nor the terms have learned from
    loss_with: float | None
    length_scale_factor: float | None  # by which 1 / sqrt(relevance) of a column is multiplied
    reg_lambda: float | None


class KernelChoice(NamedTuple):
    """The numbers of a decision; zeros where it was not tried."""

    reason: Reason
    alone: float = 0.0  # mean loss of held-out rows without it
    stacked: float = 0.0  # and with it
    scale: float = 0.0  # of the relevances: 1 / length scale_j^2 = scale times relevance_j
    reg_lambda: float = 0.0

    @classmethod
    def of_array(cls, numbers: Double, has_kernels: bool) -> Self:
        """What an array of a file says; ValueError for what none can be."""
        if numbers.shape != (len(cls._fields),) or numbers[0] not in list(Reason) or (
                (numbers[0] in _USED) != has_kernels) or (numbers < 0).any():
            raise ValueError("the report on kernel ridge is malformed")
        reason, *rest = numbers.tolist()
        return cls(Reason(int(reason)), *rest)

    def array(self) -> Double:
        """The numbers, for a file."""
        return np.array(self, dtype=np.float64)

    def report(self) -> KernelRidgeReport:
        """What users see of it."""
        kept, reason = self.reason in _USED, _SENTENCES[self.reason].format(alone=self.alone, stacked=self.stacked)
        if not self.scale:
            return KernelRidgeReport(kept, reason, None, None, None, None)
        return KernelRidgeReport(kept, reason, self.alone, self.stacked, self.scale**-0.5, self.reg_lambda)


def reason_not_to_try(kernel_ridge: str | bool, has_loss: bool, n_rows: int, n_columns: int) -> Reason | None:
    """Why it is not tried, by the parameter `kernel_ridge`; None where it is."""
    if kernel_ridge is False:
        return Reason.OFF
    if not has_loss:
        return Reason.LOSS
    if n_rows < (FEWEST_AT_ALL if kernel_ridge is True else FEWEST_ROWS):
        return Reason.FEW
    too_many = n_rows * n_columns > MOST_NUMBERS or (
        n_rows <= MOST_ROWS and n_rows**2 * (2.0 * n_columns + 16) > MOST_WORK)
    return Reason.MANY if kernel_ridge == "auto" and too_many else None
