"""Which arguments scikit-learn hands on to which method: requests of an object, which `Parametrised` keeps.

They are kept under the name by which `sklearn.clone` finds them; they need no scikit-learn, and have no effect unless
it routes (`enable_metadata_routing=True`).
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InvalidInputError, InvalidTypeError

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
