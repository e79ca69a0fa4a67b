"""Exceptions of the package."""


class RFFKernError(Exception):
    """Base of every exception the package raises on purpose."""


class InvalidInputError(RFFKernError, ValueError):
    """An argument is not what was expected; the message names it, says what was expected and what came."""


class InvalidTypeError(InvalidInputError, TypeError):
    """The same, where the type of the argument is at fault."""


class NotFittedError(RFFKernError, ValueError, AttributeError):
    """A model was asked to predict before `fit`."""


class TrainingStateError(RFFKernError, RuntimeError):
    """A model read from a file was asked for something that only the process that trained it holds."""


class FormatError(RFFKernError, ValueError):
    """A model file is damaged, foreign or written by a newer version."""


class DataConversionWarning(UserWarning):
    """Input was accepted in a form other than the expected one."""
