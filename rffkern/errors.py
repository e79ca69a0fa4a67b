"""Exceptions of the package."""


class RFFKernError(Exception):
    """Base of every exception that the package raises on purpose."""


class InvalidInputError(RFFKernError, ValueError):
    """An argument is not what was expected; the message names it and says what was expected and what came."""


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument has a type that is not accepted; the message names it and says what was expected and what came."""


class NotFittedError(RFFKernError, ValueError, AttributeError):
    """A model was asked for predictions, or to be saved, before `fit`."""


class TrainingStateError(RFFKernError, RuntimeError):
    """A model read from a file was asked for what files do not keep: to go on with training, or for earlier rounds."""


class FormatError(RFFKernError, ValueError):
    """A model file is damaged, of another format or written by a newer version."""


class DataConversionWarning(UserWarning):
    """Input was accepted in a form other than the expected one."""
