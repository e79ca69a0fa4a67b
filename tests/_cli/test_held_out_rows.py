"""`rffkern fit --time` and `--groups`: which rows are held out, by --holdout and by the model."""

import numpy as np
import pytest

import rffkern._cli.fit as fit_command
from rffkern import load
from rffkern._cli import training_table

FAST = ("--model", "fourier_boosting_regressor", "--set", "n_estimators=3", "--set", "n_bags=2")
N = 120
DAYS = np.datetime64("2024-01-01") + np.arange(N) // 4


@pytest.fixture
def lines():
    """Rows of a table in order of time: a number, a date, who, and the target."""
    rng = np.random.default_rng(0)
    return [f"{x:.4f},{day},{who},{x + k / 50:.3f}" for k, (x, day, who) in enumerate(zip(
        rng.standard_normal(N), DAYS, np.array(["ann", "bob", "cy", "di", "eve", "007"])[rng.integers(0, 6, N)],
        strict=True))]


@pytest.fixture
def held_out(monkeypatch):
    """Training and held-out tables of each command that is run."""
    seen = []

    def train(model, rows, *arguments, **options):
        seen.append((rows, model.get_params()))
        trained(model, rows, *arguments, **options)

    def evaluate(model, rows):
        seen[-1] = (seen[-1][0], rows, seen[-1][1])
        return evaluated(model, rows)

    trained, evaluated = fit_command.train, fit_command.predictions_on
    monkeypatch.setattr(fit_command, "train", train)
    monkeypatch.setattr(fit_command, "predictions_on", evaluate)
    return seen


def write(path, lines, order=None, header="x,day,who,answer"):
    rows = lines if order is None else [lines[k] for k in order]
    path.write_text("\n".join([header, *rows]) + "\n")


@pytest.mark.parametrize("in_file", [False, True])
def test_the_last_rows_are_held_out(command, folder, lines, held_out, monkeypatch, in_file):
    """Rows in another order make the same model, also where they are kept in a file; no day is divided."""
    if in_file:
        monkeypatch.setattr(training_table, "MAX_BYTES_IN_MEMORY", 100)
    order = np.random.default_rng(1).permutation(N)
    order = order[np.argsort(DAYS[order], kind="stable")].reshape(-1, 4)[::-1].ravel()  # days in reverse
    write(folder / "a.csv", lines, np.sort(order.reshape(-1, 4), axis=1)[::-1].ravel())
    write(folder / "b.csv", lines, np.sort(order.reshape(-1, 4), axis=1).ravel())
    for name in "ab":
        assert command("fit", f"{name}.csv", "-o", f"{name}.npz", "--time", "day", "--holdout", "0.22", *FAST)[0] == 0
    assert (folder / "a.npz").read_bytes() == (folder / "b.npz").read_bytes()
    assert load(folder / "a.npz").feature_names_in_.tolist() == ["x", "day", "who"]
    for rows, last, params in held_out:
        assert params["validation"] == "last"
        assert (rows.times[1:] >= rows.times[:-1]).all()
        assert rows.times.max() < last.times.min()
        assert (len(rows.y), len(last.y)) == (92, 28)  # seven days; 0.22 of the rows are 26.4


def test_time_may_be_dropped_and_random_folds_asked_for(command, folder, lines, held_out):
    write(folder / "a.csv", lines)
    options = ("fit", "a.csv", "-o", "a.npz", "--time", "day", "--drop", "day", *FAST)
    assert command(*options, "--set", "validation=random")[0] == 0
    (rows, *_, params), = held_out
    assert params["validation"] == "random"
    assert rows.features == [0, 2]
    assert load(folder / "a.npz").feature_names_in_.tolist() == ["x", "who"]


def test_numbers_are_times_and_the_target_is_another_column(command, folder, lines, held_out):
    np.savez(folder / "a.npz", X=np.column_stack([np.arange(40) % 9, np.arange(40)[::-1]]).astype(float),
             y=np.arange(40.0))
    assert command("fit", "a.npz", "-o", "m.npz", "--time", "1", "--holdout", "0.25", *FAST)[0] == 0
    (rows, last, _), = held_out
    assert rows.y.tolist() == [*range(39, 9, -1)]
    assert last.y.tolist() == [*range(9, -1, -1)]
    (folder / "t.csv").write_text("a,b,t\n" + "".join(f"{k % 7},{k},{-k}\n" for k in range(40)))
    assert command("fit", "t.csv", "-o", "m.npz", "--time", "t", *FAST)[0] == 0
    assert load(folder / "m.npz").feature_names_in_.tolist() == ["a", "t"]


@pytest.mark.parametrize("dropped", [(), ("--drop", "who")])
def test_groups_are_held_out_as_a_whole(command, folder, lines, held_out, dropped):
    write(folder / "a.csv", lines)
    for seed in "12":
        assert command("fit", "a.csv", "-o", "a.npz", "--groups", "who", "--holdout", "0.3", "--seed", seed, *FAST,
                       *dropped)[0] == 0
    assert load(folder / "a.npz").feature_names_in_.tolist() == ["x", "day"]
    for rows, others, params in held_out:
        assert params["validation"] == "random"
        assert not {*rows.groups} & {*others.groups}
        assert abs(len(others.y) - 36) <= 15
    assert {*held_out[0][1].groups} != {*held_out[1][1].groups}


@pytest.mark.parametrize("how", [("--holdout", "0.4"), ("--cv", "3"), ()])
def test_standard_errors_are_those_of_groups(command, folder, how):
    """Ten rows of a patient say hardly more than one: errors are three times those of independent rows."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(60), np.array(["no", "yes"])[rng.integers(0, 2, 60)]
    write(folder / "a.csv", [f"{x[k // 10] + 1e-3 * rng.standard_normal():.5f},{k // 10},{y[k // 10]}"
                             for k in range(600)], header="x,who,answer")
    code, _, errors = command("fit", "a.csv", "-o", "groups.npz", "--groups", "who", *how, "--model",
                              "fourier_boosting", "--set", "n_estimators=3")
    assert code == 0, errors
    model = load(folder / "groups.npz")
    found = model.metadata_[{"--holdout": "held_out", "--cv": "cross_validation"}[how[0]]] if how else (
        model._out_of_fold["figures"])
    independent = np.sqrt(found["accuracy"] * (1 - found["accuracy"]) / found["rows"])
    assert 2.4 < found["standard_errors"]["accuracy"] / independent < 4


def test_groups_of_a_family_without_validation(command, folder, lines, held_out):
    write(folder / "a.csv", lines)
    assert command("fit", "a.csv", "-o", "a.npz", "--groups", "who", "--holdout", "0.3", "--model",
                   "kernel_ridge_regressor")[0] == 0
    (rows, others, _), = held_out
    assert not {*rows.groups} & {*others.groups}


def test_a_remark_on_dates(command, folder, lines):
    write(folder / "a.csv", lines)
    remark = "column 'day' has dates, but rows are held out at random"
    assert remark in command("fit", "a.csv", "-o", "a.npz", *FAST)[2]
    assert "--time 'day'" in command("fit", "a.csv", "-o", "a.npz", "--holdout", "0.2", "--model", "gbrff_regressor",
                                     "--set", "n_estimators=2")[2]
    for options in (("--model", "gbrff_regressor", "--set", "n_estimators=2"), (*FAST, "--time", "day"),
                    (*FAST, "--groups", "who"), (*FAST, "--drop", "day"), (*FAST, "--eval", "a.csv"),
                    (*FAST, "--set", "validation=last")):
        code, _, errors = command("fit", "a.csv", "-o", "a.npz", *options)
        assert code == 0
        assert remark not in errors


@pytest.mark.parametrize(("options", "code", "message"), [
    (("--time", "day", "--groups", "who"), 2, "not allowed with argument"),
    (("--time", "who"), 65, "--time needs a column of numbers or of dates such as 2024-03-01"),
    (("--time", "answer", "--target", "answer"), 2, "--time and --target must name different columns, got 3 (answer)"),
    (("--groups", "who", "--features", "x,who"), 2, "--groups and --features must name different columns"),
    (("--groups", "x", "--weight", "x"), 2, "--groups and --weight must name different columns"),
    (("--holdout", "0.999"), 65, "--holdout 0.999 leaves 0 of "),
    (("--holdout", "0.002"), 65, "--holdout 0.002 of 120 rows holds out none"),
    (("--holdout", "0.5", "--groups", "same"), 65, "holds out none, as all are of one group"),
    (("--time", "same"), 65, "--time needs two times or more, column 3 (same) has the same in all rows"),
    (("--time", "when"), 65, "no column 'when'")])
def test_wrong_columns(command, folder, lines, options, code, message):
    write(folder / "a.csv", lines)
    if "same" in options:
        write(folder / "a.csv", [",1,".join(line.rsplit(",", 1)) for line in lines], header="x,day,who,same,answer")
    found, _, errors = command("fit", "a.csv", "-o", "a.npz", *FAST, *options)
    assert (found, message in errors) == (code, True), errors


@pytest.mark.parametrize(("option", "column"), [("--time", 1), ("--groups", 2)])
def test_a_row_without_time_or_group(command, folder, lines, option, column):
    cells = lines[6].split(",")
    cells[column] = ""
    write(folder / "a.csv", [*lines[:6], ",".join(cells), *lines[7:]])
    code, _, errors = command("fit", "a.csv", "-o", "a.npz", *FAST, option, str(column))
    assert code == 65
    assert f"data row 7 (line 8), column {column} (" in errors
    assert "the value is missing; fill it in, or skip such rows with --reject FILE" in errors
    for more in ((), ("--drop", str(column)))[: 2 - (option == "--groups")]:  # a time is also trained on
        code, _, errors = command("fit", "a.csv", "-o", "a.npz", *FAST, option, str(column), "--reject", "r.csv", *more)
        assert code == 0, errors
        assert f"1 of {len(lines)} rows rejected: r.csv" in errors
        assert (folder / "r.csv").read_text().splitlines()[1].startswith("7,8,")


@pytest.mark.parametrize("option", ["--time", "--groups"])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_row_without_time_or_group_in_parquet(command, folder, lines, option, as_text):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    write(folder / "a.csv", lines)
    rows = pd.read_csv(folder / "a.csv", parse_dates=[] if as_text else ["day"], dtype={"who": str})
    rows.loc[6, "day" if option == "--time" else "who"] = None
    rows.to_parquet(folder / "a.parquet")
    fit = ("fit", "a.parquet", "-o", "a.npz", *FAST, option, "day" if option == "--time" else "who")
    code, _, errors = command(*fit)
    assert code == 65
    assert "data row 7" in errors
    code, _, errors = command(*fit, "--reject", "r.csv")
    assert code == 0, errors
    assert f"1 of {len(lines)} rows rejected: r.csv" in errors


@pytest.mark.parametrize("options", [("--cv", "5"), ("--holdout", "0.4")])
def test_copies_of_rows_are_held_out_together(command, folder, options):
    """Labels at random are not found, although each row is there three times."""
    rng = np.random.default_rng(0)
    rows = [f"{rng.standard_normal()},{'abcdefghij'[rng.integers(10)]}{rng.integers(20)},{label}"
            for label in rng.choice(["yes", "no"], 80)]
    (folder / "copies.csv").write_text("\n".join(["a,name,label", *np.repeat(rows, 3)]) + "\n")
    code, _, errors = command("fit", "copies.csv", "-o", "m.npz", "--target", "label", "--model", "fourier_boosting",
                              "--set", "n_estimators=50", *options)
    assert code == 0, errors
    assert "these rows do not show that the model is better than a guess" in errors
    assert "--cv" not in options or "5-fold cross-validation with all copies of a row in one fold" in errors


def test_labels_that_no_training_row_of_a_fold_has(command, folder):
    """Their log loss is that of a probability of 0, and hides what is known of the others."""
    rows = [f"{k % 2}.5,{'yes' if k % 2 else 'no'},1" for k in range(40)]
    (folder / "rare.csv").write_text("\n".join(["a,label,w", *rows, "3,once,1", "4,never,0"]) + "\n")
    said = "has a label that no training row of the fold has, and counts as wrong, which raises the log loss"
    fit = ("fit", "rare.csv", "-o", "m.npz", "--target", "label", "--model", "fourier_boosting", "--set",
           "n_estimators=5", "--cv")
    code, _, errors = command(*fit, "5", "--weight", "w")
    assert (code, errors.count(f"\n1 row {said}")) == (0, 1)
    code, _, errors = command(*fit, "5", "--drop", "w")
    assert (code, errors.count("\n2 rows have labels")) == (0, 1)
    assert "no training row" not in command(*fit, "0", "--drop", "w")[2]
    assert "2 rows have labels" in command("compare", "rare.csv", "--target", "label", "--models", "constant")[2]


def test_a_cell_of_the_times_that_is_none(command, folder):
    """It cannot count as missing, nor be a category."""
    days = ["unknown" if k == 40 else str(np.datetime64("2024-01-01") + k) for k in range(90)]
    (folder / "t.csv").write_text("when,x,y\n" + "".join(f"{day},{k % 7},{k % 5}.5\n" for k, day in enumerate(days)))
    for options in ((), ("--missing=unknown",)):
        code, _, errors = command("fit", "t.csv", "-o", "p.npz", "--time", "when", *FAST, *options)
        assert code == 65
        assert ("got 'unknown': the column of --time must have dates alone; correct it, or skip such rows with "
                "--reject FILE [") in errors
    assert command("fit", "t.csv", "-o", "p.npz", "--time", "when", *FAST, "--reject", "r.csv")[0] == 0
