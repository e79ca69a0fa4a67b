"""What every object with parameters has: names, checks, a docstring from the list of them, and scikit-learn's protocol.

A class lists its parameters in `_parameters`, each with its check and description.
"""

import inspect
import sys
from typing import Any, ClassVar, Self

from ..errors import InvalidInputError, NotFittedError
from .arguments import truncated
from .docstrings import Attribute, Parameter
from .metadata_routing import add_setters, requests_of

_MOST_SHOWN = 200  # characters of a parameter in a notebook


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
    _unseen_rows: ClassVar[str] = ""  # the method that needs `conformalize`
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
            mark = "td" if _same(value, defaults[name].default) else "th"
            shown = html.escape(truncated(repr(value), _MOST_SHOWN))
            rows.append(f"<tr><{mark}>{name}</{mark}><{mark}>{shown}</{mark}></tr>")
        is_fitted: Any = getattr(self, "__sklearn_is_fitted__", bool)
        state = "fitted" if is_fitted() else "not fitted"
        return (f"<details><summary>{type(self).__name__}, {state}</summary><table>{''.join(rows)}</table></details>")


def _same(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and value == default)
