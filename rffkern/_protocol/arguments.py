"""Checks of plain arguments: numbers, choices, thread counts and random states.

A check says which argument, what was expected and what came.  `Number` and `Choice` are checks that also say in words
what they accept, so that a parameter's range stands in one place, for its check and for its documentation.
"""

import math
import numbers
from collections.abc import Iterable
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from ..errors import InvalidInputError

Auto: TypeAlias = Literal["auto"]
Precision: TypeAlias = Literal["single", "double"]

# A string, as all annotations with np.random are: evaluated at import they would load numpy.random, which scoring does
# not need.
RandomSource: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"

MAX_THREADS = 1024

_LARGEST_SCALAR = 1.7e308

# Upper limits from here on guard memory, or keep numbers from overflowing.  Documentation does not mention them.
_SMALLEST_GUARD = 1e6


class Check(Protocol):
    """A check of one argument by name, and what it accepts in words."""

    @property
    def domain(self) -> str:
        """What is accepted."""

    def __call__(self, name: str, value: Any) -> None:
        """Raise InvalidInputError unless the value is accepted."""


# Plain classes: a NamedTuple takes a fifth of a millisecond to make, which every program that loads a model would pay.
class Number:
    """Accept numbers of one kind within [low, high] or (low, high], perhaps None, perhaps one word instead."""

    def __init__(self, kind: type, low: float = -math.inf, high: float = math.inf, open_low: bool = False,
                 optional: bool = False, word: str | None = None) -> None:
        self.kind, self.low, self.high, self.open_low, self.optional, self.word = (
            kind, low, high, open_low, optional, word)

    @property
    def domain(self) -> str:
        """What is accepted, as documentation says it."""
        kind = self.kind.__name__
        if self.high < _SMALLEST_GUARD and math.isfinite(self.low):
            text = f"{kind} in {'(' if self.open_low else '['}{self.low:.15g}, {self.high:.15g}]"
        elif math.isfinite(self.low):
            text = f"{kind} {'>' if self.open_low else '>='} {self.low:.15g}"
        else:
            text = kind
        text = text if self.word is None else f'"{self.word}" or {text}'
        return f"{text} or None" if self.optional else text

    def __call__(self, name: str, value: Any) -> None:
        """Raise InvalidInputError unless the value is accepted."""
        if (value is None and self.optional) or (self.word is not None and isinstance(value, str)
                                                 and value == self.word):
            return
        if self.word is not None and isinstance(value, str):
            bound = f" {'>' if self.open_low else '>='} {self.low:.15g}" if math.isfinite(self.low) else ""
            raise InvalidInputError(f"{name} must be {self.word!r} or a number{bound}, got {value!r}")
        check_scalar(name, value, self.kind, self.low, self.high, self.open_low)


class Jobs:
    """Accept a number of threads, or None or -1 for the CPUs that this process may use."""

    domain = f"int in [1, {MAX_THREADS}], -1 or None"

    def __call__(self, name: str, value: Any) -> None:
        """Raise InvalidInputError unless the value is accepted."""
        check_jobs(name, value)


class Choice:
    """Accept one of some values."""

    def __init__(self, choices: tuple[str | bool, ...]) -> None:
        self.choices = choices

    @property
    def domain(self) -> str:
        """What is accepted, as documentation says it."""
        if self.choices == (True, False):
            return "bool"
        *most, last = (str(choice) if isinstance(choice, bool) else f'"{choice}"' for choice in self.choices)
        return f"{', '.join(most)} or {last}"

    def __call__(self, name: str, value: Any) -> None:
        """Raise InvalidInputError unless the value is accepted."""
        check_choice(name, value, self.choices)


class Distinct:
    """Accept a tuple of distinct words among some; `noun` is what they are."""

    def __init__(self, noun: str, words: tuple[str, ...]) -> None:
        self.noun, self.words = noun, words

    @property
    def domain(self) -> str:
        """What is accepted, as documentation says it."""
        return "tuple of " + ", ".join(f'"{word}"' for word in self.words)

    def __call__(self, name: str, value: Any) -> None:
        """Raise InvalidInputError unless the value is accepted."""
        if (not isinstance(value, (tuple, list)) or not value or len({*map(str, value)}) < len(value)
                or any(not isinstance(word, str) or word not in self.words for word in value)):
            words = ", ".join(self.words)
            raise InvalidInputError(f"{name} must be a tuple of distinct {self.noun} among {words}, got {value!r}")


class RandomState:
    """Accept a seed, a Generator, a RandomState or None."""

    domain = "int >= 0, numpy.random.Generator, numpy.random.RandomState or None"

    def __call__(self, name: str, value: Any) -> None:
        """Raise InvalidInputError unless the value is accepted."""
        if value is None or (isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 0):
            return
        if not isinstance(value, (np.random.Generator, np.random.RandomState)):
            raise InvalidInputError(f"{name} must be an integer >= 0, a numpy.random.Generator, a "
                                    f"numpy.random.RandomState or None, got {value!r}")


class OfClass:
    """Accept None, a word, or an object of a class that is known by its name, whose own parameters are checked too."""

    def __init__(self, class_name: str, *words: str) -> None:
        self.class_name, self.words = class_name, words

    @property
    def domain(self) -> str:
        """What is accepted, as documentation says it."""
        return ", ".join(f'"{word}"' for word in self.words) + f", {self.class_name} or None"

    def __call__(self, name: str, value: Any) -> None:
        """Raise InvalidInputError unless the value is accepted."""
        if value is None or (isinstance(value, str) and value in self.words):
            return
        if self.class_name not in (base.__name__ for base in type(value).__mro__):
            words = ", ".join(map(repr, self.words))
            raise InvalidInputError(f"{name} must be {words}, a {self.class_name} or None, got {value!r}")
        value._check_params()


def check_all(checks: Iterable[tuple[str, Check, Any]], owner: object) -> None:
    """Check attributes of an object, in the order of some (name, check, anything)."""
    for name, check, _ in checks:
        check(name, getattr(owner, name))


def check_rng(random_state: RandomSource) -> "np.random.Generator":
    """Return a numpy.random.Generator for an int >= 0, a Generator, a RandomState or None.

    A RandomState gives a seed, by one draw of `randint`, as scikit-learn's own tools take one from it.
    """
    RandomState()("random_state", random_state)
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)  # a Generator is returned as it is


def check_jobs(name: str, value: Any) -> int | None:
    """A number of threads, None where it is None or -1."""
    if value is None or (type(value) is int and 1 <= value <= MAX_THREADS):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and (
            int(value) == -1 or 1 <= int(value) <= MAX_THREADS):
        return None if int(value) == -1 else int(value)
    raise InvalidInputError(f"{name} must be an integer >= 1 and <= {MAX_THREADS}, or -1 or None for all CPUs, got "
                            f"{value!r}")


def check_scalar(name: str, value: Any, kind: type, low: float = -math.inf, high: float = math.inf,
                 open_low: bool = False) -> Any:
    """Return value as `kind` (int or float) within [low, high], or (low, high] where open_low."""
    wanted = "an integer" if kind is int else "a finite number"
    bounds = f"{'>' if open_low else '>='} {low}" if math.isfinite(low) else ""
    if math.isfinite(high):
        bounds += f"{' and ' if bounds else ''}<= {high}"
    number: Any = numbers.Integral if kind is int else numbers.Real
    value = value.item() if isinstance(value, np.generic) else value
    good = isinstance(value, number) and not isinstance(value, bool) and low <= value <= high
    if not good or (open_low and value == low) or abs(value) > _LARGEST_SCALAR:
        raise InvalidInputError(f"{name} must be {wanted} {bounds}".rstrip() + f", got {_shortened(value)}")
    return kind(value)


def _shortened(value: object) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**20 else "an integer beyond 1e20"
    return text if len(text) < 100 else text[:97] + "..."


def check_choice(name: str, value: Any, choices: Iterable[str | bool]) -> Any:
    """Return value, one of `choices`."""
    value = value.item() if isinstance(value, np.generic) else value
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value
