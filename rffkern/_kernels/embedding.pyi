from collections.abc import Mapping
from typing import Any, Final

KINDS: Final[Mapping[str, int]]
LINKS: Final[Mapping[str, int]]
PREDICTIONS: Final[Mapping[str, int]]

def make_model(
    arrays: dict[str, Any], tables: dict[str, Any], kind: str, n_classes: int, link: str, slope: float, prediction: str,
) -> Any: ...
def functions() -> Any: ...
