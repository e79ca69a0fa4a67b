"""Centers and weights padded as the kernels read them."""

import numpy as np

from rffkern._model.centers import pad_centers, pad_weights


def test_padding():
    centers = pad_centers(np.ones((3, 2)), np.float32)
    assert centers.dtype == np.float32
    assert len(centers) >= 3
    assert centers.sum() == 6
    weights = pad_weights(np.ones((2, 3)), len(centers))
    assert weights.shape == (2, len(centers))
    assert weights.sum() == 6
