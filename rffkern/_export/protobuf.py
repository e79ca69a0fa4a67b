"""ONNX messages in the wire format of protocol buffers; the numbers of fields are those of onnx.proto, version 1.8."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .function import Array

# Types of elements.
FLOAT, INT64, STRING, DOUBLE = 1, 7, 8, 11
_TYPES = {"f4": FLOAT, "f8": DOUBLE, "i8": INT64}

_INT, _FLOAT, _FLOATS, _INTS, _STRINGS = 2, 1, 6, 7, 8  # types of attributes
_IR_VERSION = 7

LEARNED = "ai.onnx.ml"
_DOMAINS = {"": 0, LEARNED: 2}  # operators, and their version where it is not that of the model


def _varint(value: int) -> bytes:
    value %= 1 << 64
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def _field(number: int, value: int | str | bytes) -> bytes:
    """One field: a whole number, or a text, message or bytes with their length before them."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _fields(number: int, values: Sequence[int | str | bytes]) -> bytes:
    return b"".join(_field(number, value) for value in values)


def _single(value: float) -> bytes:
    return struct.pack("<f", value)


def _attribute(name: str, value: Any) -> bytes:
    """AttributeProto of a number or of a list of numbers or texts."""
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, _INT)
    if isinstance(value, float):
        return _field(1, name) + _varint(2 << 3 | 5) + _single(value) + _field(20, _FLOAT)
    if value and isinstance(value[0], str):
        return _field(1, name) + _fields(9, value) + _field(20, _STRINGS)
    if value and isinstance(value[0], float):
        return _field(1, name) + _field(7, b"".join(map(_single, value))) + _field(20, _FLOATS)  # packed
    return _field(1, name) + _fields(8, value) + _field(20, _INTS)


def node(operator: str, inputs: Sequence[str], output: str, attributes: Mapping[str, Any], domain: str = "") -> bytes:
    """NodeProto of one output."""
    return (_fields(1, inputs) + _field(2, output) + _field(3, output) + _field(4, operator)
            + _fields(5, [_attribute(name, value) for name, value in attributes.items()])
            + (_field(7, domain) if domain else b""))


def tensor(name: str, values: Array) -> bytes:
    """TensorProto of numbers or of text."""
    head = _fields(1, values.shape)
    if values.dtype.kind in "UO":
        return head + _field(2, STRING) + _fields(6, [str(text).encode() for text in values.ravel()]) + _field(8, name)
    raw: NDArray[np.generic] = values.astype(values.dtype.newbyteorder("<"), order="C")
    return head + _field(2, _TYPES[raw.dtype.str[1:]]) + _field(8, name) + _field(9, raw.tobytes())


def value_info(name: str, element: int, shape: Sequence[int | str]) -> bytes:
    """ValueInfoProto of a tensor; a text in its shape names a size that is not known."""
    sizes = [_field(1, size) if isinstance(size, int) else _field(2, size) for size in shape]
    kind = _field(1, element) + _field(2, _fields(1, sizes))
    return _field(1, name) + _field(2, _field(1, kind))


def model(opset: int, version: str, nodes: Sequence[bytes], tensors: Sequence[bytes], inputs: Sequence[bytes],
          outputs: Sequence[bytes]) -> bytes:
    """ModelProto."""
    graph = (_fields(1, nodes) + _field(2, "rffkern") + _fields(5, tensors) + _fields(11, inputs)
             + _fields(12, outputs))
    return (_field(1, _IR_VERSION) + _field(2, "rffkern") + _field(3, version) + _field(7, graph)
            + _fields(8, [_field(1, domain) + _field(2, version_ or opset) for domain, version_ in _DOMAINS.items()]))
