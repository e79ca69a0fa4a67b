"""What the package fixes and tests of sparse kernel machines vary."""

import pytest

from rffkern._training.sparse_kernel import ensemble


@pytest.fixture
def in_double(monkeypatch):
    """Kernels and columns in double precision."""
    monkeypatch.setattr(ensemble, "PRECISION", "double")


@pytest.fixture
def small_groups(monkeypatch):
    """Groups of four rounds."""
    monkeypatch.setattr(ensemble, "GROUP_SIZE", 4)
