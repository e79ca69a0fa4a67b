"""A part that the package does not have, written here: what a new one needs, and what then takes it.

It is one class, with what it adds to scores.  Files, sums, single terms and what they read follow from it.  C and the
exports, which compute what parts add in languages of their own, refuse it by name.
"""

import numpy as np
import pytest

import rffkern
from rffkern import Expansion, FourierTerms, InvalidInputError
from rffkern._files import model_files
from rffkern._model import expansion as expansion_module
from rffkern._model import parts


class HingeTerms(parts.Part):
    """Linear splines: sum over m of amplitudes[m] max(0, x[columns[m]] - knots[m])."""

    kind = "hinges"
    array_names = ("hinge_columns", "hinge_knots", "hinge_amplitudes")
    _dimensions = (1, 1, 2)

    def __init__(self, hinge_columns, hinge_knots, hinge_amplitudes):
        super().__init__(hinge_columns, hinge_knots, hinge_amplitudes)
        vars(self).update(n_terms=len(self.hinge_knots), n_outputs=self.hinge_amplitudes.shape[1])

    def _check_shapes(self, n_features):
        if not (self.hinge_columns < n_features).all():
            self._refuse_shapes(n_features)

    def _bound(self):
        return 1e300 * np.abs(self.hinge_amplitudes).sum(axis=0)

    def _reads(self, n_features):
        return np.eye(n_features, dtype=bool)[self.hinge_columns.astype(int)]

    def _take(self, chosen):
        return HingeTerms(*(array[chosen] for array in self.arrays().values()))

    def _plus(self, other):
        return HingeTerms(*map(np.concatenate, zip(self.arrays().values(), other.arrays().values(), strict=True)))

    def _add_to(self, scores, rows, center):
        scores += np.maximum(rows[:, self.hinge_columns.astype(int)] - self.hinge_knots, 0) @ self.hinge_amplitudes


@pytest.fixture
def expansion(monkeypatch):
    with_hinges = (*parts.PARTS, HingeTerms)
    for module in (parts, expansion_module, model_files):
        monkeypatch.setattr(module, "PARTS", with_hinges)
    return Expansion([1.0], [0.0, 0.0], FourierTerms([[1.0, 0.0]], [0.5], [[2.0]]),
                     HingeTerms([0, 1], [0.5, -0.5], [[1.0], [3.0]]))


X = np.random.default_rng(0).standard_normal((300, 2))


def test_scores(expansion):
    fourier = 1 + 2 * np.cos(X[:, 0] - 0.5)
    hinges = np.maximum(X[:, 0] - 0.5, 0) + 3 * np.maximum(X[:, 1] + 0.5, 0)
    for rows in (X, X[:1], X[:3]):
        for _ in range(2):
            np.testing.assert_allclose(expansion.score(rows)[:, 0], (fourier + hinges)[: len(rows)], atol=1e-12)


def test_files_sums_and_single_terms(expansion, tmp_path):
    rffkern.save(expansion, tmp_path / "e.npz")
    np.testing.assert_array_equal(rffkern.load(tmp_path / "e.npz").score(X), expansion.score(X))
    np.testing.assert_allclose((expansion + expansion).score(X), 2 * expansion.score(X))
    assert expansion._reads().tolist() == [[True, False], [True, False], [False, True]]
    last = expansion._take(np.array([2])).score(X)[:, 0]
    np.testing.assert_allclose(last, 3 * np.maximum(X[:, 1] + 0.5, 0))
    assert repr(expansion) == "Expansion(fourier=1, hinges=2, n_features=2, n_outputs=1)"


def test_what_has_to_write_it_in_its_own_language_refuses_it_by_name(expansion, tmp_path):
    with pytest.raises(InvalidInputError, match="terms of kind 'hinges' cannot be exported"):
        rffkern.export(expansion, tmp_path / "out", to="c")
    with pytest.raises(InvalidInputError, match="hinges"):
        rffkern.c_model(expansion)
