"""What `rffkern fit` says of a table that it can train on, but perhaps should not."""

import numpy as np
import pytest

FIT = ["fit", "t.csv", "-o", "t.npz", "--model", "fourier_boosting_regressor", "--set", "n_estimators=5", "--cv", "0"]


def written(folder, names, *columns, foot=""):
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    (folder / "t.csv").write_text("\n".join([names, *rows, foot]), encoding="utf-8")


@pytest.fixture
def numbers(rng):
    return rng.standard_normal((2, 100)).round(4)


def test_a_row_of_totals_whose_word_may_be_a_level(command, folder, numbers):
    x, y = numbers
    colours = ["red", "blue"] * 50
    written(folder, "colour,x,z,y", colours, x, x[::-1], y, foot=f"Total,,,{y.sum()}\n")
    remark = "t.csv: the last row alone has no x, z: if it has totals, remove it\n"
    assert remark in command(*FIT)[2]
    for foot in ("", "red,,0.5,0.1\n", "red,0.1,0.5,0.1\n"):
        written(folder, "colour,x,z,y", colours, x, x[::-1], y, foot=foot)
        assert "the last row" not in command(*FIT)[2]


def test_times_of_two_and_of_three_parts(command, folder, numbers):
    seconds = (3600 + 1500 * numbers[0]).astype(int)
    took = [f"{s // 3600}:{s // 60 % 60:02d}:{s % 60:02d}" if s >= 3600 else f"{s // 60}:{s % 60:02d}" for s in seconds]
    written(folder, "took,y", took, numbers[1])
    short, long = ([text for text in took if text.count(":") == n][-1] for n in (1, 2))
    assert f"t.csv: column 0 (took) has times such as {long} and {short}, read as hours and minutes: write minutes " \
           f"as 0:{short}\n" in command(*FIT)[2]
    written(folder, "took,y", [text if text.count(":") == 2 else f"0:{text}" for text in took], numbers[1])
    assert "hours and minutes" not in command(*FIT)[2]


def test_levels_that_should_be_numbers_are_shown(command, folder, numbers):
    written(folder, "x,y", [f"\u200b{value}" for value in numbers[0]], numbers[1])
    assert f"categories: x (100 levels, such as '\\u200b{min(map(str, numbers[0]))}')\n" in command(*FIT)[2]


@pytest.mark.parametrize("labels", [False, True])
def test_a_column_that_gives_the_target_away(command, folder, numbers, labels):
    x, y = numbers
    target = np.where(y > 0, "yes", "no") if labels else y
    copy = np.where(y > 0, "J", "N") if labels else 1.19 * y
    written(folder, "x,code,y", x, copy, target)
    fit = [*FIT[:5], "fourier_boosting", *FIT[6:]] if labels else FIT
    assert "almost no error: is 'code' known before the target is? If not, pass --drop code\n" in command(*fit)[2]
    assert command(*fit, "--holdout", "0.6", "--eval", fit[1])[2].count("almost no error") == 1
    written(folder, "x,code,y", x, copy[::-1], target)
    assert "almost no error" not in command(*fit)[2]


def test_a_rare_class_is_not_given_away(command, folder, rng):
    """To guess the other one has almost no error, too."""
    written(folder, "x,y", rng.standard_normal(12000).round(4), ["yes", *["no"] * 11999])
    code, _, errors = command(*FIT[:5], "fourier_boosting", *FIT[6:])
    assert (code, "almost no error" in errors) == (0, False), errors
