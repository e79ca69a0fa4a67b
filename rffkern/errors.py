"""Exceptions of the package."""


class RFFKernError(Exception):
    """Base of every exception that the package raises on purpose."""


class InvalidInputError(RFFKernError, ValueError):
    """An argument is not what was expected; the message names it and says what was expected and what was given.

    `partition` is the number of the partition that it is about, where rows are in partitions.
    """

    partition: int | None = None


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument has a type that is not accepted; the message names it, what was expected and what was given."""


class NotFittedError(RFFKernError, ValueError, AttributeError):
    """A method that needs a trained model was called before `fit`."""


class TrainingStateError(RFFKernError, RuntimeError):
    """A method needs the state of training, which a model read from a file does not have; call `fit` again."""


class FormatError(RFFKernError, ValueError):
    """A model file is damaged, of another format or written by a newer version."""


class ColumnWarning(UserWarning):
    """A column of a table is not used, or is read in one of several ways; the message names it and what to do."""


class DataConversionWarning(UserWarning):
    """Input was accepted in a form other than the expected one."""
