"""Scratch memory of boosting: its contents do not matter."""

import numpy as np
import pytest
from helpers.boosted import waves

from rffkern import GBRFF1Classifier, GBRFF2Classifier, GBRFFRegressor
from rffkern._training.gbrff import packed_rows, weak_learners


@pytest.mark.parametrize("n_features", [4, 90])  # more than 64 widen the partial sums
@pytest.mark.parametrize(("make", "params"), [
    (GBRFF2Classifier, {}), (GBRFF1Classifier, {"n_components": 1}), (GBRFF1Classifier, {"step": "exact"}),
    (GBRFFRegressor, {"n_components": 3}), (GBRFFRegressor, {"n_components": 1}),
])
def test_what_scratch_holds_beforehand_does_not_matter(monkeypatch, rng, make, params, n_features):
    X, y = waves(rng, 300, n_features)
    expected = make(3, random_state=0, **params).fit(X, y, eval_set=(X, y))
    spoil(monkeypatch, packed_rows.PackedRows, ("h", "terms", "partial"))
    spoil(monkeypatch, weak_learners.CosineSearch, ("_scaled", "_circle", "_cosine", "_sine", "_partial"))
    spoil(monkeypatch, weak_learners.LandmarkSearch, ("_rff", "_losses", "_directions", "_partial", "_gradient"))
    found = make(3, random_state=0, **params).fit(X, y, eval_set=(X, y))
    np.testing.assert_array_equal(found.expansion_.fourier.amplitudes, expected.expansion_.fourier.amplitudes)
    np.testing.assert_array_equal(found.train_loss_, expected.train_loss_)


def spoil(monkeypatch, cls, names):
    """Let new objects of a class begin with nan in these arrays."""
    make = cls.__init__

    def spoiled(self, *arguments, **keywords):
        make(self, *arguments, **keywords)
        for name in names:
            getattr(self, name)[...] = np.nan

    monkeypatch.setattr(cls, "__init__", spoiled)
