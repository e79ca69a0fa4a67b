"""Rows to learn from with labels or targets, and held-out rows beside them."""

import numpy as np
import pytest

from rffkern import DataConversionWarning, InvalidInputError, RowBlocks
from rffkern._rows.training_rows import check_labelled, check_more_labels, check_with_targets, with_eval_set

X = np.arange(12.0).reshape(6, 2)
LETTERS = np.array(list("bacabc"))


def test_two_classes_have_one_output():
    training = check_labelled(X, [5, 3, 5, 3, 5, 3], None)
    assert training.classes.tolist() == [3, 5]
    assert training.rows.n_outputs == 1
    assert [signs.tolist() for signs in training.rows.targets()] == [[1, -1, 1, -1, 1, -1]]
    assert (training.center.tolist(), training.scale.tolist()) == ([0], [1])


def test_more_classes_have_an_output_each():
    rows = check_labelled(X, LETTERS, None).rows
    assert rows.codes.tolist() == [1, 0, 2, 0, 1, 2]
    signs = np.column_stack(list(rows.targets()))
    assert signs.dtype == np.int8
    np.testing.assert_array_equal(signs, 2 * np.eye(3)[rows.codes] - 1)


def test_labels_that_differ_in_blanks_alone_are_named(recwarn):
    """And what the message says helps."""
    check_labelled(X, LETTERS, None)
    assert not recwarn
    y = ["a", "a ", "b", "a", "b", "c"]
    with pytest.warns(DataConversionWarning, match=r"'a' \(2 rows\) and 'a ' \(1 row\); if they mean the same, pass "
                                                   r"y=\[label.strip\(\) for label in y\]"):
        training = check_labelled(X, y, None)
    assert training.classes.tolist() == ["a", "a ", "b", "c"]
    assert check_labelled(X, [label.strip() for label in y], None).classes.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(("labels", "advice"), [
    (np.arange(60) * 10, "if they are numbers, train a regressor"),
    ((np.datetime64("2024-01-01") + np.arange(60)).astype(str), "if they are dates or numbers in text, make numbers")])
def test_labels_that_are_numbers_or_dates_are_warned_of(recwarn, labels, advice):
    rows = np.zeros((60, 1))
    with pytest.warns(DataConversionWarning, match=f"y has 60 classes, such as .* in 60 rows, .*: {advice}"):
        check_labelled(rows, labels, None)
    check_labelled(rows, labels[np.arange(60) // 2], None)
    check_labelled(rows[:20], labels[:20], None)
    assert not recwarn


def test_rows_without_weight_are_gone_unless_they_are_streamed():
    """A class that only they have is gone with them."""
    weight = (LETTERS != "c").astype(float)
    held = check_labelled(X, LETTERS, weight)
    assert held.classes.tolist() == ["a", "b"]
    np.testing.assert_array_equal(held.rows.X, X[weight > 0])
    assert held.rows.codes.tolist() == [1, 0, 0, 1]
    streamed = check_labelled(RowBlocks([X]), LETTERS, weight)
    assert streamed.classes.tolist() == ["a", "b"]
    assert streamed.rows.X.shape == (6, 2)
    np.testing.assert_array_equal(streamed.rows.codes[weight > 0], held.rows.codes)
    assert streamed.rows.weights.has_zeros
    assert streamed.rows.present().tolist() == [0, 1]


def test_one_class_of_positive_weight_is_refused():
    with pytest.raises(InvalidInputError, match=r"at least two classes, got 1 class with positive weight: \['a'\]"):
        check_labelled(X, LETTERS, LETTERS == "a")


def test_some_rows_are_taken_with_labels_and_weights():
    taken = check_labelled(X, LETTERS, np.arange(1, 7)).rows.taken(np.array([4, 0]))
    np.testing.assert_array_equal(taken.X, X[[4, 0]])
    assert taken.codes.tolist() == [1, 1]
    assert taken.weights.each[0] == pytest.approx(5 * taken.weights.each[1])


def test_labels_that_go_on():
    known = np.array(["a", "b", "c", "d"])
    more = check_more_labels(X[:2], ["d", "b"], None, None, known)
    assert more.rows.codes.tolist() == [3, 1]
    assert more.rows.n_classes == 4
    first = check_more_labels(X[:2], ["d", "d"], known, None, None)
    assert first.classes.tolist() == known.tolist()
    with pytest.raises(InvalidInputError, match=r"y must hold labels of the training, such as .*, got 'x'"):
        check_more_labels(X[:2], ["x", "b"], None, None, known)
    with pytest.raises(InvalidInputError, match="classes must be those of the training that it continues"):
        check_more_labels(X[:2], ["a", "b"], ["a", "b"], None, known)
    with pytest.raises(InvalidInputError, match="at least two classes, or `classes` name them"):
        check_more_labels(X[:2], ["a", "a"], None, None, None)


def test_unknown_labels_of_rows_without_weight_do_not_matter():
    known = np.array(["a", "b"])
    assert check_more_labels(X[:2], ["x", "b"], None, [0, 1], known).rows.codes.tolist() == [1]


def test_targets_have_mean_0_and_spread_1():
    y = np.column_stack([[1.0, 3, 1, 3, 1, 3], np.full(6, 7.0)])
    training = check_with_targets(X, y, None, 1)
    np.testing.assert_allclose(training.rows.values, np.column_stack([[-1.0, 1, -1, 1, -1, 1], np.zeros(6)]))
    np.testing.assert_allclose(training.center, [2, 7])
    np.testing.assert_allclose(training.scale, [1, 1])
    assert training.inverse_scale[1] == 0
    assert training.classes is None
    assert [len(values) for values in training.rows.targets()] == [6, 6]
    np.testing.assert_array_equal(training.rows.taken(np.array([3])).values, [[1, 0]])


def test_held_out_rows_are_in_the_units_of_training():
    training = check_with_targets(X, [1.0, 3, 1, 3, 1, 3], None, 1)
    held_out = with_eval_set(training, (X[:2], [5.0, 2.0], [1, 0])).eval_sets[0][1]
    np.testing.assert_allclose(held_out.values, [[3.0]])
    assert with_eval_set(training, None) is training
    labelled = with_eval_set(check_labelled(X, LETTERS, None), [(X[:2], ["c", "a"])]).eval_sets[0][1]
    assert labelled.codes.tolist() == [2, 0]


@pytest.mark.parametrize(("eval_set", "message"), [
    (5, "eval_set must be a tuple .* got int"), ([], "eval_set must be .* got list of length 0"),
    ((X[:, :1], LETTERS), "eval_set X must have 2 features, got 1"),
    ((X, LETTERS[:2]), "eval_set y must have one entry"), ((X, ["x"] * 6), "eval_set y must hold labels"),
])
def test_bad_held_out_rows(eval_set, message):
    with pytest.raises(InvalidInputError, match=message):
        with_eval_set(check_labelled(X, LETTERS, None), eval_set)


def test_held_out_targets_must_be_as_many():
    training = check_with_targets(X, np.arange(6.0), None, 1)
    with pytest.raises(InvalidInputError, match="eval_set y must have 1 targets, got 2"):
        with_eval_set(training, (X, X))
