"""Checks of plain arguments: numbers, choices, thread counts and random states.

A check says which argument, what was expected and what came.  A `Check` also says in words what it accepts, so that a
parameter's range stands in one place, for its check and for its documentation.
"""

import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

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


class Check:
    """A check of one argument: `domain` says what is accepted, as documentation has it.

    A call takes the name of the argument and a value, and raises InvalidInputError unless the value is accepted.
    """

    def __init__(self, domain: str, check: Callable[[str, Any], object]) -> None:
        self.domain, self._check = domain, check

    def __call__(self, name: str, value: Any) -> None:
        self._check(name, value)


def number(kind: type, low: float = -math.inf, high: float = math.inf, *, open_low: bool = False,
           optional: bool = False, word: str | None = None) -> Check:
    """Accept numbers of one kind within [low, high] or (low, high], perhaps None, perhaps one word instead."""
    at_least = f" {'>' if open_low else '>='} {low:.15g}" if math.isfinite(low) else ""
    domain = kind.__name__ + at_least
    if high < _SMALLEST_GUARD and at_least:
        domain = f"{kind.__name__} in {'(' if open_low else '['}{low:.15g}, {high:.15g}]"
    domain = (domain if word is None else f'"{word}" or {domain}') + (" or None" if optional else "")
    others = ("" if word is None else f"{word!r} or ") + ("None or " if optional else "")

    def check(name: str, value: Any) -> None:
        if not (value is None and optional) and not (isinstance(value, str) and value == word):
            check_scalar(name, value, kind, low, high, open_low, others)

    return Check(domain, check)


def choice(*choices: str | bool) -> Check:
    """Accept one of some values."""
    *most, last = (str(each) if isinstance(each, bool) else f'"{each}"' for each in choices)
    domain = "bool" if choices == (True, False) else f"{', '.join(most)} or {last}"
    return Check(domain, lambda name, value: check_choice(name, value, choices))


def distinct(noun: str, words: tuple[str, ...]) -> Check:
    """Accept a tuple of distinct words among some; `noun` is what they are."""
    def check(name: str, value: Any) -> None:
        if (not isinstance(value, (tuple, list)) or not value or len({*map(str, value)}) < len(value)
                or any(not isinstance(word, str) or word not in words for word in value)):
            raise InvalidInputError(f"{name} must be a tuple of distinct {noun} among {', '.join(words)}, got "
                                    f"{value!r}")

    return Check("tuple of " + ", ".join(f'"{word}"' for word in words), check)


def of_class(class_name: str, *words: str) -> Check:
    """Accept None, a word, or an object of a class that is known by its name, whose own parameters are checked too."""
    def check(name: str, value: Any) -> None:
        if value is None or (isinstance(value, str) and value in words):
            return
        if class_name not in (base.__name__ for base in type(value).__mro__):
            raise InvalidInputError(f"{name} must be {', '.join(map(repr, words))}, a {class_name} or None, got "
                                    f"{value!r}")
        value._check_params()

    return Check(", ".join(f'"{word}"' for word in words) + f", {class_name} or None", check)


def check_random_state(name: str, value: Any) -> None:
    """Refuse what is no seed, Generator, RandomState or None."""
    is_seed = isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 0
    if value is not None and not is_seed and not isinstance(value, (np.random.Generator, np.random.RandomState)):
        raise InvalidInputError(f"{name} must be an integer >= 0, a numpy.random.Generator, a "
                                f"numpy.random.RandomState or None, got {value!r}")


def check_rng(random_state: RandomSource) -> "np.random.Generator":
    """Return a numpy.random.Generator for an int >= 0, a Generator, a RandomState or None.

    A RandomState gives a seed, by one draw of `randint`, as scikit-learn's own tools take one from it.
    """
    check_random_state("random_state", random_state)
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
                 open_low: bool = False, others: str = "") -> Any:
    """Return value as `kind` (int or float) within [low, high], or (low, high] where open_low.

    A message begins with `others`, which is what the argument may be instead: "None or ".
    """
    wanted = "an integer" if kind is int else "a finite number"
    bounds = f"{'>' if open_low else '>='} {low:.15g}" if math.isfinite(low) else ""
    if math.isfinite(high):
        bounds += f"{' and ' if bounds else ''}<= {high:.15g}"
    number: Any = numbers.Integral if kind is int else numbers.Real
    value = value.item() if isinstance(value, np.generic) else value
    good = isinstance(value, number) and not isinstance(value, bool) and low <= value <= high
    if not good or (open_low and value == low) or abs(value) > _LARGEST_SCALAR:
        raise InvalidInputError(f"{name} must be {others}{wanted} {bounds}".rstrip() + f", got {_shown(value)}")
    return kind(value)


def _shown(value: object) -> str:
    return "an integer beyond 1e20" if isinstance(value, int) and abs(value) >= 10**20 else truncated(repr(value), 100)


def truncated(text: str, most: int) -> str:
    """A text of at most so many characters, whose end says that more is left out."""
    return text if len(text) <= most else text[: most - 3] + "..."


def check_choice(name: str, value: Any, choices: Iterable[str | bool]) -> Any:
    """Return value, one of `choices`."""
    value = value.item() if isinstance(value, np.generic) else value
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def has_members(data: Any, *names: str) -> bool:
    """Whether the type of data has all of these attributes; an instance of a data frame has those of its columns too.

    So is recognised what no package is imported for: data frames, sparse matrices and queries.
    """
    return all(hasattr(type(data), name) for name in names)
