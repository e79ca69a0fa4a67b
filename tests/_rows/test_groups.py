"""Folds that keep groups of rows whole, and the last rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffkern import InvalidInputError
from rffkern._rows.groups import check_groups, group_folds, start_of_last, start_with_all_labels


@given(st.lists(st.integers(0, 12), min_size=2, max_size=200), st.sampled_from([2, 3, 5, 2.5, 1 / 0.3]),
       st.integers(0, 5))
def test_folds_keep_groups_whole(groups, n_folds, seed):
    groups = np.array(groups)
    n_groups = len(np.unique(groups))
    folds = group_folds(groups, groups % 3 + 0.0, n_folds, np.random.default_rng(seed))
    assert all(len(np.unique(folds[groups == group])) == 1 for group in groups)
    assert 0 <= folds.min() <= folds.max() < np.ceil(n_folds)
    if n_groups >= n_folds:
        assert {*range(int(n_folds))} <= {*folds.tolist()}  # none is empty
    largest = np.unique(groups, return_counts=True)[1].max()
    sizes = np.bincount(folds, minlength=int(n_folds))[: int(n_folds)]
    assert sizes.max() <= len(groups) / n_folds + largest


def test_folds_of_groups_of_one_size_are_alike():
    """In the number of rows, and in their targets."""
    groups, target = np.repeat(np.arange(100), 4), np.repeat(np.random.default_rng(0).standard_normal(100), 4)
    folds = group_folds(groups, target, 5, np.random.default_rng(1))
    assert np.bincount(folds).tolist() == [80] * 5
    means = [target[folds == fold].mean() for fold in range(5)]
    assert np.ptp(means) < 0.3 * target.std()
    assert (group_folds(groups, np.zeros(400), 5, np.random.default_rng(2)) != folds).any()


@given(st.integers(1, 300), st.floats(0.001, 0.5))
def test_the_last_rows_are_the_share_that_is_asked(n_rows, share):
    start = start_of_last(n_rows, share)
    assert start == 1 if n_rows == 1 else 1 <= start < n_rows
    assert abs(n_rows - start - share * n_rows) <= 1


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.floats(0.001, 0.5))
def test_the_last_groups_are_whole(sizes, share):
    groups = np.repeat(np.random.default_rng(len(sizes)).permutation(len(sizes)), sizes)
    start = start_of_last(len(groups), share, groups)
    if len(sizes) == 1:
        assert start == len(groups)
    else:
        assert groups[start] != groups[start - 1]
        assert abs(start - (1 - share) * len(groups)) <= max(sizes)


def test_the_last_rows_have_all_labels():
    codes = np.repeat([0, 1, 0, 1, 0], [400, 100, 100, 5, 395])
    assert start_with_all_labels(codes, 900, 0.1) == 604  # the last row of label 1, of which a hundredth is 1.05
    assert start_with_all_labels(np.repeat(codes, 10), 9000, 0.1) == 6039  # 11 of 1,050 rows, a hundredth
    assert start_with_all_labels(codes, 600, 0.4) == 600  # 4 of 105 rows
    assert start_with_all_labels(np.repeat([1, 0], [100, 900]), 900, 0.1) == 500
    assert start_with_all_labels(np.array([0, 1]), 1, 0.5) == 1


def test_groups_that_begin_again_are_not_last():
    with pytest.raises(InvalidInputError, match="got one that begins again at row 3; for groups in any order, use"):
        start_of_last(5, 0.2, np.array([4, 2, 2, 4, 3]))


@pytest.mark.parametrize("groups", [
    [3, 3, 1], [0.5, 0.5, -1], ["b", "b", "a"], np.array(["b", "b", 1], dtype=object), [True, True, False],
    np.array(["2024-02-01", "2024-02-01", "2024-01-01"], dtype="M8[D]")])
def test_groups_are_of_any_kind(groups):
    first, second, third = check_groups(groups, 3)
    assert first == second != third


@pytest.mark.parametrize(("groups", "message"), [
    ([1, 2], r"groups must have one entry per row of X \(3\), got 2"),
    ([1.0, np.nan, 2.0], "groups must name a group for each row, got nan at row 1"),
    (np.array(["a", "b", None], dtype=object), "got None at row 2"),
    (np.array(["2024-01-01", "NaT", "2024-01-01"], dtype="M8[D]"), "at row 1: give rows that belong to no group"),
    (np.array([[], {}, 1], dtype=object), "groups must be numbers, text or other values"),
    (np.zeros((3, 2)), "groups must be a 1d array")])
def test_wrong_groups(groups, message):
    with pytest.raises(InvalidInputError, match=message):
        check_groups(groups, 3)
