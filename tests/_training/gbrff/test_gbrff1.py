"""GBRFF1: its phase search, its steps and its losses."""

import numpy as np
import pytest
import reference
from helpers.boosted import standardised, waves

from rffkern import GBRFF1Classifier


def test_one_cosine_learns_its_phase_globally(rng):
    """Figure 1 of the ECML paper: with K = 1 the landmark is one phase."""
    X, y = waves(rng)
    model = GBRFF1Classifier(5, n_components=1, precision="double", random_state=3).fit(X, y)
    H = np.full(500, 0.5 * np.log((1 + y.mean()) / (1 - y.mean())))
    omegas = model.expansion_.fourier.omegas * X.std(axis=0)
    terms = model.expansion_.fourier
    for omega, phase, step in zip(omegas, terms.phases, terms.amplitudes[:, 0], strict=True):
        best = reference.best_phase(standardised(X), reference.residuals(H, y), np.ones(500), omega)
        assert np.cos(phase - best) == pytest.approx(1, abs=1e-10)
        H = H + step * np.cos(standardised(X) @ omega - phase)


def test_exact_steps_go_further(rng):
    X, y = waves(rng, 2000)
    closed, exact = (GBRFF1Classifier(8, step=step, random_state=0).fit(X[:1000], y[:1000])
                     for step in ("closed", "exact"))
    assert exact.train_loss_[-1] < closed.train_loss_[-1] - 0.02
    assert exact.score(X[1000:], y[1000:]) > closed.score(X[1000:], y[1000:])
    assert (np.diff(exact.train_loss_) <= 1e-6 * exact.train_loss_[:-1]).all()


def test_sums_of_cosines_beyond_one_by_rounding(rng):
    """All rows equal and one class of no weight in single precision: the sum of w y h may exceed the total by a bit."""
    y = np.where(np.arange(300) % 2, 1, -1)
    for n_components in (10, 20, 30):
        model = GBRFF1Classifier(20, n_components=n_components, random_state=0)
        model.fit(np.ones((300, 10)), y, np.where(y == 1, 1, 1e-46))
        assert np.isfinite(model.train_loss_).all()
