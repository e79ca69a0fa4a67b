"""What every object with parameters has: names, checks, a description in the docstring, and scikit-learn's protocol.

A class lists its parameters in `_parameters`, each with its check and description.  Requests for the routing of
arguments are kept under the name by which `sklearn.clone` finds them; they need no scikit-learn, and have no effect
unless it routes (`enable_metadata_routing=True`).
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, ClassVar, NamedTuple, Self

from ..errors import InvalidInputError, InvalidTypeError, NotFittedError
from .arguments import Check

# Whose arguments may be routed; all others take rows alone.
_METHODS = ("fit", "partial_fit", "score")
_UNCHANGED = "$UNCHANGED$"  # as scikit-learn writes it


class Requests(dict[str, dict[str, Any]]):
    """Requests by method and argument, which are never changed."""

    def __sklearn_clone__(self) -> "Requests":
        """The same, for a clone."""
        return self


def _arguments(cls: type, method: str) -> list[str]:
    """What a method takes beside rows and labels or targets."""
    function = getattr(cls, method, None)
    names = [] if function is None else list(inspect.signature(function).parameters)[1:]
    return [name for name in names if name not in ("X", "y")]


def add_setters(cls: Any) -> None:
    """Give a class `set_fit_request` and the like, one for each of its methods that has arguments to route."""
    for method in _METHODS:
        if method in vars(cls) and (names := _arguments(cls, method)):
            setattr(cls, f"set_{method}_request", _setter(method, names))


def _setter(method: str, names: Sequence[str]) -> Callable[..., Any]:
    def set_request(self: Any, **requests: Any) -> Any:
        for name, request in requests.items():
            if name not in names:
                raise InvalidTypeError(f"set_{method}_request takes {', '.join(names)}, got {name}")
            if not (request is None or isinstance(request, bool)
                    or (isinstance(request, str) and (request.isidentifier() or request[:1] == request[-1:] == "$"))):
                raise InvalidInputError(f"{name} must be True, False, None or the name of another argument, "
                                        f"got {request!r}")
        held = {name: request for name, request in requests.items() if request != _UNCHANGED}
        before = vars(self).get("_metadata_request", {})
        self._metadata_request = Requests({**before, method: {**before.get(method, {}), **held}})
        return self

    set_request.__name__ = f"set_{method}_request"
    set_request.__doc__ = (
        f"Set which arguments scikit-learn passes on to `{method}` when it routes metadata; return self.\n\n"
        "Each is True, False, None (which makes passing it an error) or the name that callers pass it by.")
    kinds = inspect.Parameter
    parameters = [kinds("self", kinds.POSITIONAL_OR_KEYWORD),
                  *(kinds(name, kinds.KEYWORD_ONLY, default=_UNCHANGED) for name in names)]
    vars(set_request)["__signature__"] = inspect.Signature(parameters)
    return set_request


def requests_of(owner: Any) -> Any:
    """The requests of an object, as scikit-learn reads them."""
    from sklearn.utils.metadata_routing import MetadataRequest  # only scikit-learn itself asks

    found = MetadataRequest(owner=type(owner).__name__)
    given = vars(owner).get("_metadata_request", {})
    for method in _METHODS:
        for name in _arguments(type(owner), method):
            getattr(found, method).add_request(param=name, alias=given.get(method, {}).get(name))
    return found


_WIDTH, _INDENT = 112, "   "  # of the lines of a description; a blank is before each word
_FITS = """

Returns
-------
self

Raises
------
InvalidInputError
    For bad arguments or parameters; the message names which."""
_SECTION = re.compile(r"^( *)\{(\w+)\}$", re.M)  # of a docstring, by its name
_MOST_SHOWN = 200  # characters of a parameter in a notebook


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
    lines = [f"{name} : {kind}", _INDENT]
    for word in text.split():  # `textwrap` takes ten times as long, in each program that loads a model
        if lines[-1] != _INDENT and len(lines[-1]) + 1 + len(word) > _WIDTH:
            lines.append(_INDENT)
        lines[-1] += f" {word}"
    return "\n".join(lines)


class Description:
    """Docstring of a class, filled in when it is read: few programs do, and it takes as long as loading the class."""

    def __init__(self, template: str) -> None:
        self._template = template

    def __get__(self, instance: object, cls: Any) -> str:
        """The docstring of a class."""
        defaults = {name: value.default for name, value in inspect.signature(cls.__init__).parameters.items()}

        common, rare = ([parameter.entry(defaults[parameter.name]) for parameter in cls._parameters
                         if (parameter.name in cls._rare_parameters) == is_rare] for is_rare in (False, True))
        sections = (("Parameters", common), ("Other Parameters", rare),
                    ("Attributes", [attribute.entry() for attribute in cls._attributes]))

        def draws() -> str:
            return "\n".join(_entry("", "", f"Draws of `random_state`: {cls._draws}").split(f"\n{_INDENT} ")[1:])

        return filled(self._template, {"draws": draws, "parameters": lambda: "\n\n".join(
            _section(title, entries) for title, entries in sections if entries)})


def describe(cls: Any, arguments: Mapping[str, Attribute]) -> None:
    """Fill in the docstrings of a class and of its methods.

    In that of the class a line that holds only {parameters} is replaced by the sections of its parameters, the rare
    ones apart, and of its attributes, and one that holds only {draws} by its `_draws`; in those of methods one that
    holds only the name of an argument, as {sample_weight}, by its description in `_arguments` of the class or in
    `arguments`, and {fit} by the sections of a `fit`: its arguments, and what every `fit` returns and raises.  Of a
    method of a base the class gets a copy, with the arguments of this class.
    """
    sections = {name: argument.entry for name, argument in {**arguments, **cls._arguments}.items()}
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


def not_fitted(name: str) -> NotFittedError:
    """NotFittedError, which is also scikit-learn's where that is loaded."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    kind = type("NotFittedError", (NotFittedError, theirs), {}) if theirs else NotFittedError
    return kind(f"this {name} instance is not fitted yet: call fit before asking it to predict")


class Parametrised:
    """Base of what has parameters: a subclass stores them unchanged in `__init__` and lists them in `_parameters`."""

    _parameters: ClassVar[tuple[Parameter, ...]] = ()
    _rare_parameters: ClassVar[tuple[str, ...]] = ()  # names of those in the section "Other Parameters"
    _attributes: ClassVar[tuple[Attribute, ...]] = ()
    _draws: ClassVar[str] = ""  # of random numbers, in their order
    _arguments: ClassVar[dict[str, Attribute]] = {}  # of methods, where the class has a description of its own

    def __init_subclass__(cls) -> None:
        """Give a class what scikit-learn sets requests by."""
        super().__init_subclass__()
        add_setters(cls)

    def get_metadata_routing(self) -> Any:
        """Return what scikit-learn asks for: which arguments it is to hand on to which method."""
        return requests_of(self)

    def _check_params(self) -> None:
        """Check all parameters, in their order; a class whose parameters depend on each other extends this."""
        for name, check, *_ in self._parameters:
            check(name, getattr(self, name))

    @classmethod
    def _param_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep` also those of parameters that have some, as columns__numeric."""
        params = {name: getattr(self, name) for name in self._param_names()}
        inner = {f"{name}__{key}": held for name, value in params.items() if deep and isinstance(value, Parametrised)
                 for key, held in value.get_params().items()}
        return params | inner

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and return self; InvalidInputError names one that does not exist."""
        known = self._param_names()
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in known or (inner and not isinstance(getattr(self, outer), Parametrised)):
                from difflib import get_close_matches  # takes a millisecond to load

                near = get_close_matches(outer, known, 1) if outer not in known else []
                raise InvalidInputError(f"Invalid parameter {name!r} for estimator {type(self).__name__}. "
                                        + (f"Did you mean {near[0]!r}? " if near else "")
                                        + f"Valid parameters are: {known!r}")
            if inner:
                getattr(self, outer).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults."""
        defaults = inspect.signature(type(self).__init__).parameters
        changed = (f"{name}={value!r}" for name, value in self.get_params(deep=False).items()
                   if not _same(value, defaults[name].default))
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the parameters, those that differ from their defaults in bold."""
        import html  # slow to load, and seldom needed

        defaults = inspect.signature(type(self).__init__).parameters
        rows = []
        for name, value in self.get_params(deep=False).items():
            mark, text = "td" if _same(value, defaults[name].default) else "th", repr(value)
            shown = html.escape(text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "...")
            rows.append(f"<tr><{mark}>{name}</{mark}><{mark}>{shown}</{mark}></tr>")
        is_fitted: Any = getattr(self, "__sklearn_is_fitted__", bool)
        state = "fitted" if is_fitted() else "not fitted"
        return (f"<details><summary>{type(self).__name__}, {state}</summary><table>{''.join(rows)}</table></details>")


def _same(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and value == default)
