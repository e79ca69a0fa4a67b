"""Docstrings of classes and methods, filled in from the lists of their parameters, attributes and arguments."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from .arguments import Check

_WIDTH = 108  # of the lines of a description
_FITS = """

Returns
-------
self

Raises
------
InvalidInputError
    For bad arguments or parameters; the message names which."""
_COMMON = {  # to methods of several classes
    "covered": """X : array of shape (n_samples, n_features), table or RowBlocks
coverage : float above 0 and below 1, default 0.9
groups : array of shape (n_samples,) or None
    The group of each row, after `conformalize(groups=)`: the coverage is that of each group.""",
    "more_rows": """Returns
-------
self

Raises
------
InvalidInputError
    For bad arguments or parameters, or rows that do not agree with the training so far.
TrainingStateError
    For a model read from a file.""",
    "raises": """Raises
------
NotFittedError
    Before `fit`.
InvalidInputError
    If X is not finite and numeric, or its columns are not those of `fit`.""",
    "raises_of_coverage": """Raises
------
NotFittedError
    Before `fit`.
TrainingStateError
    If the model knows of no rows that it was not trained on: call `conformalize` with some.
InvalidInputError
    If `coverage` is not a share between 0 and 1, or too high for the number of rows that the model was not
    trained on, or X is not what `fit` saw."""}
_SECTION = re.compile(r"^( *)\{(\w+)\}$", re.M)  # of a docstring, by its name


class Parameter(NamedTuple):
    """One parameter of a constructor."""

    name: str
    check: Check
    text: str
    loss: tuple[str, object] | None = None  # the loss that reads it, and the value that it has with all others

    def described(self, text: str) -> "Parameter":
        """The same with another description."""
        return self._replace(text=text)

    def entry(self, default: object) -> str:
        """The lines of a numpydoc section."""
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        return _entry(self.name, f"{self.check.domain}, default {shown}", self.text)


class Attribute(NamedTuple):
    """One fitted attribute, or several of one kind, for documentation."""

    name: str
    kind: str
    text: str

    def described(self, text: str) -> "Attribute":
        """The same with another description."""
        return self._replace(text=text)

    def entry(self) -> str:
        """The lines of a numpydoc section."""
        return _entry(self.name, self.kind, self.text)


def _entry(name: str, kind: str, text: str) -> str:
    return "\n".join([f"{name} : {kind}", *(f"    {line}" for line in _wrapped(text))])


def _wrapped(text: str) -> list[str]:
    first, *words = text.split()
    lines = [first]
    for word in words:  # `textwrap` takes ten times as long, in each program that loads a model
        if len(lines[-1]) + 1 + len(word) > _WIDTH:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return lines


class Description:
    """Docstring of a class, filled in when it is read: few programs do, and it takes as long as loading the class."""

    def __init__(self, template: str) -> None:
        self._template = template

    def __get__(self, instance: object, cls: Any) -> str:
        """The docstring of a class."""
        defaults = inspect.signature(cls.__init__).parameters
        common, rare = ([parameter.entry(defaults[parameter.name].default) for parameter in cls._parameters
                         if (parameter.name in cls._rare_parameters) == is_rare] for is_rare in (False, True))
        sections = (("Parameters", common), ("Other Parameters", rare),
                    ("Attributes", [attribute.entry() for attribute in cls._attributes]))
        return filled(self._template, {
            "draws": lambda: "\n".join(_wrapped(f"Draws of `random_state`: {cls._draws}")),
            "unseen_rows": lambda: f"{cls._unseen_rows} needs rows that the model was not trained on: call "
                                   "`conformalize` before.",
            "parameters": lambda: "\n\n".join(_section(title, entries) for title, entries in sections if entries)})


def describe(cls: Any, arguments: Mapping[str, Attribute]) -> None:
    """Fill in the docstrings of a class and of its methods.

    In that of the class a line that holds only {parameters} is replaced by the sections of its parameters, the rare
    ones apart, and of its attributes, {draws} by its `_draws`, and {unseen_rows} by what needs `conformalize`; in those
    of methods one that holds only the name of an argument, as {sample_weight}, by its description in `_arguments` of
    the class or in `arguments`, and {fit} by the sections of a `fit`: its arguments, and what every `fit` returns and
    raises, and others by their text in `_COMMON`.  Of a method of a base the class gets a copy, with the arguments of
    this class.
    """
    sections: dict[str, Callable[[], str]] = {name: text.__str__ for name, text in _COMMON.items()}
    sections |= {name: argument.entry for name, argument in {**arguments, **cls._arguments}.items()}
    members = {name: member for base in reversed(cls.__mro__) for name, member in vars(base).items()}
    for name, method in members.items():
        template = method.__doc__ if inspect.isfunction(method) else None  # None: `python -OO` takes docstrings away
        if template and "{" in template and _SECTION.search(template):
            if name not in vars(cls):
                method, shared = FunctionType(method.__code__, method.__globals__, name, method.__defaults__,
                                              method.__closure__), method
                functools.update_wrapper(method, shared)
                method.__kwdefaults__ = shared.__kwdefaults__
                setattr(cls, name, method)
            method.__doc__ = filled(template, sections | {"fit": functools.partial(_fit_sections, method, sections)})
    if cls.__doc__:
        cls.__doc__ = Description(cls.__doc__)


def _section(title: str, entries: Sequence[str]) -> str:
    return "\n".join([title, "-" * len(title), *entries])


def _fit_sections(method: FunctionType, sections: Mapping[str, Callable[[], str]]) -> str:
    code = method.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return _section("Parameters", [sections[name]() for name in names]) + _FITS


def filled(template: str, sections: Mapping[str, Callable[[], str]]) -> str:
    """A docstring with sections in place of the lines that name them."""
    def section(line: re.Match[str]) -> str:
        return line[1] + re.sub(r"\n(?!\n)", f"\n{line[1]}", sections[line[2]]())

    return _SECTION.sub(section, template)
