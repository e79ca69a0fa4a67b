"""Peaks of memory against the formulas of docstrings, at sizes that are drawn."""

from helpers.memory_formulas import SMALL, disagreement, sizes


def memory_formulas(rng, folder):
    """The peak of a fit is within a tenth of the formula of the docstring."""
    name, kind = str(rng.choice(list(SMALL))), str(rng.choice(["array", "blocks"]))
    params = {"max_samples": None} if kind == "array" and name.startswith("GBRFF") and rng.random() < 0.5 else {}
    return disagreement(name, str(rng.choice(["single", "double"])), kind, int(rng.choice(sizes(name))),
                        int(rng.choice([1, 3])), **params)
