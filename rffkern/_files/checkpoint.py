"""Checkpoints: files that keep the state of a training in progress, from which another process goes on.

A file is a line that names the format, the length of a text, the text, the bytes of the arrays one after the other, and
the SHA-256 digest of all that.  The text is JSON, the header; in it, the state is a tree of numbers, texts and objects
of one key, which says what the value is made into.  Nothing in it is code.
"""

import contextlib
import hashlib
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from .._estimator.base import Model
from .._estimator.checkpoints import keeping
from .._version import __version__
from ..errors import FormatError, InvalidInputError
from .archive import CHECKPOINT_MARK, require, shown
from .atomic_file import atomic_write, check_writable

_FIRST_LINE = CHECKPOINT_MARK + b"1\n"  # with the version of the format
_N_LENGTH, _N_DIGEST = 8, 32
_BIT_GENERATOR = "PCG64"
_KINDS = "biuf"  # of arrays: booleans and numbers


@contextlib.contextmanager
def checkpoint(model: Any, path: str | bytes | os.PathLike[Any]) -> Iterator[None]:
    """Keep the state of training of a model in a file, and go on from it where there is one.

    Within the context `fit` of this model writes the file after its first round, again whenever a twentieth of the time
    has been spent on rounds since, so that writing takes 5 % of it at most, and after the last round.  A process that
    ends early, however it ends, leaves a whole file: the same program goes on from there, and its model has the bits of
    one fit.

    Parameters
    ----------
    model : FourierBoosting, GBRFF or sparse kernel estimator with `warm_start=True`
        One that is fitted goes on from its own state, which the file takes over; the file must be of the same training.
    path : str, bytes or os.PathLike
        The file.  It stays after the fit: with more `n_estimators`, a new process goes on from it.

    Raises
    ------
    InvalidInputError
        If the model cannot go on; from `fit`, if rows, parameters or class are not those of the file.
    FormatError
        From `fit`, if the file is no checkpoint, is damaged, or was written by another version of the package.
    OSError
        From `fit`, if the file cannot be read or written; what was at `path` is then unchanged.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import rffkern
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other")
    >>> model = rffkern.GBRFF2Classifier(warm_start=True, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "training.checkpoint")
    ...     with rffkern.checkpoint(model, path):
    ...         _ = model.fit(X, y)
    ...     again = rffkern.GBRFF2Classifier(200, warm_start=True)
    ...     with rffkern.checkpoint(again, path):
    ...         _ = again.fit(X, y)  # 100 rounds more
    >>> len(again.train_loss_)
    201
    """
    with keeping(CheckpointFile(model, path)):
        yield


class CheckpointFile:
    """A file that keeps the state of the training of a model."""

    def __init__(self, model: Any, path: str | bytes | os.PathLike[Any]) -> None:
        if not isinstance(model, Model) or not {"warm_start", "n_estimators"} <= set(model._param_names()):
            raise InvalidInputError("model must be a FourierBoosting, GBRFF or sparse kernel estimator, whose training "
                                    f"goes on with the same bits, got {type(model).__name__}")
        if not getattr(model, "warm_start", False):
            raise InvalidInputError(f"model must have warm_start=True, got {type(model).__name__} with "
                                    "warm_start=False")
        self.model, self.name = model, os.fsdecode(path)
        check_writable(self.name)

    def read(self, types: Sequence[type]) -> Any:
        """The state in the file, None where there is no file."""
        try:
            with open(self.name, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return None
        try:
            return decode(content, type(self.model).__name__, types)
        except FormatError as error:
            raise FormatError(f"{self.name}: {error}; delete it to start anew") from error
        except InvalidInputError as error:
            raise InvalidInputError(f"{self.name}: {error}") from error
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError) as error:
            raise FormatError(f"{self.name}: not a valid checkpoint: {error}; delete it to start anew") from error

    def write(self, state: Any, types: Sequence[type]) -> None:
        """Replace the file by one of another state, at once."""
        content = encode(state, type(self.model).__name__, types)
        with atomic_write(self.name) as file:
            for part in content:
                file.write(part)


def encode(state: Any, class_name: str, types: Sequence[type]) -> list[bytes]:
    """The bytes of a file, in pieces."""
    arrays: list[bytes] = []
    header = {"package": __version__, "class": class_name, "state": _to_tree(state, set(types), arrays)}
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    parts = [_FIRST_LINE, len(text).to_bytes(_N_LENGTH, "little"), text, *arrays]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return [*parts, digest.digest()]


def decode(content: bytes, class_name: str, types: Sequence[type]) -> Any:
    """The state in a file that was written for a class by this version of the package."""
    start = len(_FIRST_LINE) + _N_LENGTH
    require(content[: len(_FIRST_LINE)] == _FIRST_LINE, "not a checkpoint of this package")
    require(len(content) >= start + _N_DIGEST and hashlib.sha256(content[:-_N_DIGEST]).digest() == content[-_N_DIGEST:],
            "damaged or cut off: the checksum differs")
    end = start + int.from_bytes(content[len(_FIRST_LINE) : start], "little")
    require(end <= len(content) - _N_DIGEST, "not a valid checkpoint: its header is cut off")
    header = json.loads(content[start:end])
    require(isinstance(header, dict) and set(header) == {"package", "class", "state"},
            "not a valid checkpoint: its header is malformed")
    require(header["package"] == __version__, f"written by rffkern {shown(header['package'])}, while this is "
            f"{__version__!r}: only the same version goes on with the same bits")
    if header["class"] != class_name:
        raise InvalidInputError(f"model must be a {shown(header['class'])}, as in the training that goes on, got "
                                f"{class_name}; delete the file to start anew")
    arrays = io.BytesIO(content[end:-_N_DIGEST])
    state = _from_tree(header["state"], {each.__name__: each for each in types}, arrays)
    require(not arrays.read(1), "not a valid checkpoint: arrays are left over")
    return state


def _to_tree(value: Any, types: set[type], arrays: list[bytes]) -> Any:
    """A value as JSON has it; the bytes of arrays are appended."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in _KINDS:
        arrays.append(np.ascontiguousarray(value).tobytes())
        return {"array": [value.dtype.str, *value.shape]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, np.random.Generator):
        return {"generator": value.bit_generator.state}
    if isinstance(value, Mapping):
        return {"dict": [[key, _to_tree(each, types, arrays)] for key, each in value.items()]}
    if type(value) in types:
        return {type(value).__name__: [_to_tree(each, types, arrays) for each in value]}
    if type(value) in (tuple, list):
        parts = [_to_tree(each, types, arrays) for each in value]
        return parts if isinstance(value, list) else {"tuple": parts}
    raise TypeError(f"a checkpoint cannot hold a {type(value).__name__}")


def _from_tree(tree: Any, types: Mapping[str, type], arrays: BinaryIO) -> Any:
    """The value of a tree; the bytes of its arrays are read one after the other."""
    if isinstance(tree, list):
        return [_from_tree(each, types, arrays) for each in tree]
    if not isinstance(tree, dict):
        return tree
    [(kind, content)] = tree.items()
    if kind == "array":
        dtype, shape = np.dtype(content[0]), tuple(content[1:])
        require(dtype.kind in _KINDS and all(type(n) is int and n >= 0 for n in shape),
                "not a valid checkpoint: an array is malformed")
        size = dtype.itemsize * math.prod(shape)
        data = bytearray(arrays.read(min(size, 1 << 62)))  # a larger one would be an OverflowError
        require(len(data) == size, "not a valid checkpoint: an array is cut off")
        return np.frombuffer(data, dtype=dtype).reshape(shape)
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "generator":
        require(content["bit_generator"] == _BIT_GENERATOR, "not a valid checkpoint: an unknown generator")
        generator = np.random.Generator(np.random.PCG64())
        generator.bit_generator.state = content
        return generator
    if kind == "dict":
        return {key: _from_tree(each, types, arrays) for key, each in content}
    values = [_from_tree(each, types, arrays) for each in content]
    return tuple(values) if kind == "tuple" else types[kind](*values)
