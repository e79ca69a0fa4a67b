"""`rffkern predict`: columns, scores, outputs, and constant memory."""

import csv
import io
import json
import os
import pickle
import shlex
import subprocess
import sys

import numpy as np
import pytest
from helpers.command_line import COLUMNS, run, write_csv
from helpers.processes import PATIENCE

import rffkern
from rffkern import GBRFF2Classifier, InvalidInputError, load, save
from rffkern._cli.predict import Accuracy, RSquared
from rffkern._cli.prediction_files import CsvWriter, NpyWriter
from rffkern._files.archive import npy_prefix


def test_fit_and_predict(folder, table):
    X, y = table
    model = load(folder / "m.npz")
    assert model.feature_names_in_.tolist() == COLUMNS
    assert model.classes_.tolist() == ["no", "yes"]
    done = run("predict", "m.npz", "test.csv", "-o", "out.csv", "--target", "answer", cwd=folder)
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == "prediction"
    assert lines[1:] == model.predict(X[200:]).tolist()
    assert done.stdout == ""
    assert done.stderr == f"accuracy on 100 rows: {100 * np.mean(np.array(lines[1:]) == y[200:]):.2f} %\n"
    assert sorted(item.name for item in folder.iterdir()) == ["m.npz", "out.csv", "test.csv", "train.csv"]


def test_stdout_and_probabilities(folder, table):
    done = run("predict", "m.npz", "test.csv", "--proba", cwd=folder)
    lines = [line.split(",") for line in done.stdout.splitlines()]
    assert lines[0] == ["prediction", "probability of no", "probability of yes"]
    proba = load(folder / "m.npz").predict_proba(table[0][200:])
    np.testing.assert_array_equal(np.array([line[1:] for line in lines[1:]], dtype=float), proba)


def test_npy_in_and_out(folder, table):
    X, _ = table
    np.save(folder / "X.npy", X)
    run("predict", "m.npz", "X.npy", "-o", "labels.npy", cwd=folder)
    run("predict", "m.npz", "X.npy", "-o", "proba.npy", "--proba", cwd=folder)
    model = load(folder / "m.npz")
    np.testing.assert_array_equal(np.load(folder / "labels.npy", allow_pickle=False), model.predict(X))
    np.testing.assert_array_equal(np.load(folder / "proba.npy", allow_pickle=False), model.predict_proba(X))


def test_blanks_around_names(command, folder, table):
    """Pandas keeps those of a header, so that models trained in Python have them; files of text are read without."""
    X, y = table
    named = dict(zip(["length ", " width", " depth"], X[:200].T, strict=True))
    model = GBRFF2Classifier(5, random_state=0).fit(named, y[:200])
    save(model, folder / "spaced.npz")
    write_csv(folder / "spaced.csv", X[200:], y[200:], header=["length ", " width", " depth"])
    expected = ["prediction", *model.predict(dict(zip(named, X[200:].T, strict=True))).tolist()]
    for data in ("test.csv", "spaced.csv"):
        code, out, errors = command("predict", "spaced.npz", data, "--target", " answer")
        assert (code, out.splitlines()) == (0, expected), errors
        assert errors.startswith("accuracy on 100 rows")
    assert command("evaluate", "spaced.npz", "spaced.csv")[0] == 0  # the target is the only other column
    both = dict(zip(["length", "width ", "width"], X[:200].T, strict=True))
    save(GBRFF2Classifier(5, random_state=0).fit(both, y[:200]), folder / "spaced.npz")
    code, _, errors = command("predict", "spaced.npz", "spaced.csv")
    assert (code, "column 'width ' of the model is missing" in errors) == (65, True)


def test_columns_are_found_by_name(folder, table):
    X, y = table
    write_csv(folder / "shuffled.csv", np.column_stack([X[200:, 2], np.arange(100), X[200:, 0], X[200:, 1]]), y[200:],
              header=["depth", "id", "length", "width"])
    done = run("predict", "m.npz", "shuffled.csv", cwd=folder)
    assert done.stdout == run("predict", "m.npz", "test.csv", cwd=folder).stdout


def test_object_labels_into_npy(tmp_path, rng):
    """Labels of different lengths in different blocks: none is cut to the width of the first."""
    X = np.sort(rng.standard_normal((9000, 1)), axis=0)
    y = np.where(X[:, 0] > 1.4, "longer", "a").astype(object)
    save(GBRFF2Classifier(30, random_state=0).fit(X, y), tmp_path / "m.npz")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "none.npy", X[:0])
    run("predict", "m.npz", "X.npy", "-o", "o.npy", cwd=tmp_path)
    assert sorted(set(np.load(tmp_path / "o.npy").tolist())) == ["a", "longer"]
    run("predict", "m.npz", "none.npy", "-o", "o.npy", cwd=tmp_path)
    assert np.load(tmp_path / "o.npy").dtype == "<U6"


def test_a_bare_expansion_has_no_labels(folder):
    save(load(folder / "m.npz").expansion_, folder / "e.npz")
    done = run("predict", "e.npz", "test.csv", cwd=folder, expect=65)
    assert "contains the class Expansion, which has no predict method" in done.stderr
    assert "terms" in run("info", "e.npz", cwd=folder).stdout


def test_features_cannot_be_predicted(folder, table):
    X, y = table
    save(rffkern.PBRFFTransformer(5, random_state=0).fit(X, y), folder / "t.npz")
    done = run("predict", "t.npz", "test.csv", cwd=folder, expect=65)
    assert "PBRFFTransformer, which has no predict method; use its transform method in Python" in done.stderr
    assert "invalid choice" in run("fit", "train.csv", "-o", "t.npz", "--model", "pbrff_transformer", cwd=folder,
                                   expect=2).stderr


def test_regression(tmp_path, table):
    X, _ = table
    y = (np.sin(X[:, 0]) + X[:, 1]).round(4)
    write_csv(tmp_path / "train.csv", X[:200], y[:200])
    write_csv(tmp_path / "test.csv", X[200:], y[200:])
    run("fit", "train.csv", "-o", "m.npz", "--model", "gbrff_regressor", cwd=tmp_path)
    model = load(tmp_path / "m.npz")
    done = run("predict", "m.npz", "test.csv", "-o", "out.csv", "--target", "answer", cwd=tmp_path)
    assert done.stderr == f"R^2 on 100 rows: {model.score(X[200:], y[200:]):.4f}\n"
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "prediction"
    np.testing.assert_array_equal(np.array(lines[1:], float), model.predict(X[200:]))
    run("predict", "m.npz", "test.csv", "--target", "answer", "-o", "out.npy", cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.predict(X[200:]))
    assert "--proba needs a classifier" in run("predict", "m.npz", "test.csv", "--proba", cwd=tmp_path,
                                               expect=2).stderr


def test_several_targets_from_an_archive(tmp_path, table):
    X = table[0]
    y = np.column_stack([X[:, 0], 1000 + X[:, 1] - X[:, 2]])
    np.savez(tmp_path / "d.npz", X=X, y=y.astype(str))
    run("fit", "d.npz", "-o", "m.npz", "--model", "gbrff_regressor", "--set", "n_estimators=3", cwd=tmp_path)
    model = load(tmp_path / "m.npz")
    done = run("predict", "m.npz", "d.npz", cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "prediction 0,prediction 1"
    assert done.stderr == f"R^2 on 300 rows: {model.score(X, y):.4f}\n"
    run("predict", "m.npz", "d.npz", "-o", "out.npy", cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.predict(X))
    assert "y must be a 1d array" in run("fit", "d.npz", "-o", "n.npz", cwd=tmp_path, expect=65).stderr
    np.savez(tmp_path / "e.npz", X=X, y=X[:, 0])
    done = run("predict", "m.npz", "e.npz", cwd=tmp_path, expect=65)
    assert "expected 2 target(s) for each row, got 1" in done.stderr


def test_a_reader_that_leaves_early(folder, table):
    np.save(folder / "X.npy", np.tile(table[0], (300, 1)))
    command = f"{sys.executable} -m rffkern predict m.npz X.npy | head -n 1"
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    assert done.stdout == "prediction\n"
    assert done.stderr == ""


def test_real_tables(real_data, tmp_path):
    X, y = real_data("spambase")
    order = np.random.default_rng(0).permutation(len(y))
    for name, rows in (("train.csv", order[:3000]), ("test.csv", order[3000:])):
        write_csv(tmp_path / name, X[rows], np.where(y[rows] > 0, "spam", "mail"),
                  header=[f"c{j}" for j in range(X.shape[1])])
    run("fit", "train.csv", "-o", "m.npz", cwd=tmp_path)
    done = run("predict", "m.npz", "test.csv", "-o", "out.csv", "--target", "answer", cwd=tmp_path)
    assert float(done.stderr.split("rows: ")[1].split(" %")[0]) > 91


MEASURE = """
import sys
from rffkern._cli.main import main
code = main(sys.argv[1:])
with open("/proc/self/status") as status:
    print(*(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's account of a process's memory")
def test_memory_does_not_grow_with_the_rows(tmp_path, rng):
    X = rng.standard_normal((300, 60)).round(3)
    np.savez(tmp_path / "t.npz", X=X, y=X[:, 0] > 0)
    run("fit", "t.npz", "-o", "m.npz", "--set", "n_estimators=5", cwd=tmp_path)
    block = "\n".join(",".join(map(str, row)) for row in X.tolist()) + "\n"
    peaks = []
    for n in (40, 240):
        (tmp_path / "big.csv").write_text(block * n)
        done = subprocess.run([sys.executable, "-c", MEASURE, "predict", "m.npz", "big.csv", "-o", "o.npy"],
                              cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=True,
                              env=os.environ | {"OMP_NUM_THREADS": "1"})
        peaks.append(int(done.stderr.split()[-1]))
        assert len(np.load(tmp_path / "o.npy", mmap_mode="r")) == 300 * n
    assert peaks[1] - peaks[0] < 10_000, "KiB, for 29 MB more of numbers"


def test_the_names_of_the_model_are_a_header(folder, table):
    """Also where they are numbers, as pandas names columns without names."""
    write_csv(folder / "t.csv", *table, header=["0", "1", "2"])
    write_csv(folder / "rows.csv", table[0][:5], header=["0", "1", "2"])
    run("fit", "t.csv", "-o", "n.npz", "--header", "yes", cwd=folder)
    assert len(run("predict", "n.npz", "rows.csv", cwd=folder).stdout.splitlines()) == 6


@pytest.fixture
def with_ids(folder, table):
    """The test rows behind an identifier, with columns in another order."""
    X, y = table
    lines = ["depth,id,length,answer,width"]
    lines += [f'{c},"no. {i}, ""x""",{a},{label},{b}' for i, ((a, b, c), label) in enumerate(zip(X, y, strict=True))]
    (folder / "ids.csv").write_text("\n".join(lines))
    return lines


def test_kept_columns_stand_before_the_predictions(command, with_ids, folder):
    code, out, errors = command("predict", "m.npz", "ids.csv", "--keep", "id,answer", "--proba", "--keep", "id")
    plain = command("predict", "m.npz", "train.csv", "--proba")[1].splitlines()
    lines = out.splitlines()
    assert (code, errors) == (0, "")
    assert lines[0] == "id,answer,prediction,probability of no,probability of yes"
    assert lines[1].startswith('"no. 0, ""x""",')
    assert [line.split(",", 3)[3] for line in lines[1:201]] == plain[1:]


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (["--keep", "other"], 65, "no column 'other': expected one of 'depth', 'id',"),
    (["--keep", "id", "-o", "o.npy"], 2, "--keep needs a table as OUT, such as a .csv, got 'o.npy'"),
    (["--drop", "width"], 65, "column 'width' of the model is missing; got 'depth', 'id', 'length', 'answer'"),
    (["--drop", "5"], 65, "no column '5'"),
])
def test_columns_that_cannot_be_kept_or_dropped(command, with_ids, arguments, code, message):
    done = command("predict", "m.npz", "ids.csv", *arguments)
    assert done[0] == code
    assert message in done[2]


def test_a_column_that_is_written_otherwise_is_named(command, with_ids, folder):
    text = (folder / "ids.csv").read_text()
    (folder / "ids.csv").write_text(text.replace("width", "Width ", 1))
    code, _, errors = command("predict", "m.npz", "ids.csv")
    assert code == 65
    assert "column 'width' of the model is missing (got 'Width': rename it); got 'depth'" in errors


@pytest.mark.parametrize(("none", "options"), [
    ("none", "--drop number,none"), ("none, (so far)", "--drop number --drop 'none, (so far)'")])
def test_missing_columns_that_the_model_does_not_use(command, folder, none, options):
    """The advice works either way."""
    rows = [(f"n{k}", "", k % 7, "up" if k % 7 > 3 else "down") for k in range(60)]
    for name, places in (("t", (0, 1, 2, 3)), ("some", (2,)), ("few", (1,))):
        header = ("number", f'"{none}"', "x", "y")
        (folder / f"{name}.csv").write_text("".join(
            ",".join(str(row[j]) for j in places) + "\n" for row in [header, *rows]))
    assert command("fit", "t.csv", "-o", "p.npz")[0] == 0
    code, _, errors = command("predict", "p.npz", "some.csv")
    assert (code, f"some.csv: columns of the model are missing, number, {none}, which it does not use: add them "
            f"without values, or train it with {options} [" in errors) == (65, True)
    (folder / "added.csv").write_text(f'number,"{none}",x\n' + "".join(f",,{row[2]}\n" for row in rows))
    expected = command("predict", "p.npz", "t.csv")
    assert command("predict", "p.npz", "added.csv")[:2] == expected[:2]
    assert command("fit", "t.csv", "-o", "q.npz", *shlex.split(options))[0] == 0
    assert command("predict", "q.npz", "some.csv")[0] == 0
    code, _, errors = command("predict", "p.npz", "few.csv")
    assert (code, "column 'number' of the model is missing, and 1 more" in errors) == (65, True)


def test_lines_above_the_names_are_to_be_removed(command, folder):
    """A title of one cell is taken for the names; that row 1 could be data was no help."""
    (folder / "titled.csv").write_text("Report of May\n" + (folder / "test.csv").read_text())
    code, _, errors = command("predict", "m.npz", "titled.csv")
    assert code == 65
    assert "got 'Report of May'; if lines stand above the column names, remove them [rffkern help E65]\n" in errors


def test_a_word_above_the_only_column_may_be_data(command, folder):
    """Rows of a model of one column have one, but not those that have a target, too."""
    (folder / "one.csv").write_text("x,y\n" + "".join(f"{row},{row * 7 % 5}\n" for row in range(60)))
    assert command("fit", "one.csv", "-o", "one.npz", "--target", "y")[0] == 0
    (folder / "rows.csv").write_text("unknown\n3\n4\n")
    assert "got 'unknown'; if row 1 is data, pass --header no" in command("predict", "one.npz", "rows.csv")[2]
    assert "; if lines stand above the column names" in command("evaluate", "one.npz", "rows.csv")[2]


def test_rows_without_column_names_say_how_to_read_them(command, folder, table):
    """Words in the first row above numbers are taken for names."""
    advice = "; if row 1 is data, pass --header no [rffkern help E65]\n"
    (folder / "n.csv").write_text("-117.22,NA,unknown\n3,4,5\n")
    code, _, errors = command("predict", "m.npz", "n.csv")
    assert code == 65
    assert f"of the model is missing, and 2 more; got '-117.22', 'NA', 'unknown'{advice}" in errors
    (folder / "n.csv").write_text("-117.22,unknown,unknown\n3,4,5\n")
    code, _, errors = command("predict", "m.npz", "n.csv")
    assert code == 65
    assert f"got 'unknown' more than once{advice}" in errors
    (folder / "n.csv").write_text("length,width,b\n3,4,5\n")
    assert "--header" not in command("predict", "m.npz", "n.csv")[2]


def test_a_kept_column_must_not_be_called_prediction(command, folder, table):
    write_csv(folder / "p.csv", table[0], table[1], target="prediction")
    code, _, errors = command("predict", "m.npz", "p.csv", "--keep", "3")
    assert code == 2
    assert "the output would have two columns named 'prediction'" in errors


def test_dropped_columns_are_not_learned(command, with_ids, folder):
    assert command("fit", "ids.csv", "-o", "d.npz", "--drop", "id,answer", "--drop", "depth", "--model",
                   "gbrff_regressor")[0] == 0
    assert load(folder / "d.npz").feature_names_in_.tolist() == ["length"]  # the last column left is the target
    code, _, errors = command("fit", "ids.csv", "-o", "d.npz", "--drop", "id,answer", "--target", "answer")
    assert code == 2
    assert "--target and --drop must name different columns" in errors
    assert command("fit", "ids.csv", "-o", "d.npz", "--drop", "0,1,2,3")[0] == 65


def test_without_names_places_and_number_must_agree(command, folder, table):
    np.savez(folder / "t.npz", X=table[0], y=table[1])
    assert command("fit", "t.npz", "-o", "nameless.npz")[0] == 0
    code, _, errors = command("predict", "nameless.npz", "train.csv")
    assert code == 65
    assert "expected 3 columns besides any --target and --drop, got 4; columns are matched by position, because the " \
        "model has no column names" in errors
    dropped = command("predict", "nameless.npz", "train.csv", "--drop", "answer")
    assert dropped[0] == 0
    assert dropped[1] == command("predict", "nameless.npz", "train.csv", "--target", "answer")[1]


def test_labels_may_be_absent(command, folder, table):
    """One command line serves tables with labels, with some, and without."""
    X, y = table
    write_csv(folder / "bare.csv", X)
    write_csv(folder / "some.csv", X, [label if i % 2 else "" for i, label in enumerate(y)])
    bare = command("predict", "m.npz", "bare.csv", "--target", "answer")
    some = command("predict", "m.npz", "some.csv", "--target", "answer")
    assert bare[:2] == (0, some[1])
    assert bare[2] == "bare.csv: no column 'answer', so no score is reported\n"
    right = np.mean(load(folder / "m.npz").predict(X[1::2]) == y[1::2])
    assert some[2] == f"accuracy on 150 rows: {100 * right:.2f} %\n"
    code, _, errors = command("fit", "some.csv", "-o", "n.npz")
    assert code == 65
    assert "data row 1 (line 2), column 3 (answer): expected a label or target, got an empty cell" in errors


def test_words_of_arrays(command, folder, table):
    np.save(folder / "X.npy", table[0])
    code, out, _ = command("predict", "m.npz", "X.npy", "--keep", "2,0")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "column 2,column 0,prediction"
    assert [line.split(",")[:2] for line in lines[1:]] == [[str(c), str(a)] for a, _, c in table[0].tolist()]


def blocks(*arrays):
    return zip(*(np.array_split(array, 3) for array in arrays), strict=True)


@pytest.mark.parametrize(("labels", "predicted", "right"), [
    (["a", "b", "c", "a", "b"], ["a", "b", "b", "b", "b"], 3),
    (["1", "2.0", "x"], [1, 2, 1], 2), (["True", "no"], [True, False], 2), ([1, 2], [1, 3], 1),
    (["1", "b"], np.array(["1", "b"], object), 2),
])
def test_words_and_numbers_are_compared(labels, predicted, right):
    score, predicted = Accuracy(), np.asarray(predicted)
    for block in blocks(np.array(labels), predicted):
        score.add(*block, np.unique(predicted))
    assert score.report() == f"accuracy on {len(labels)} rows: {100 * right / len(labels):.2f} %"


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_r_squared(rng, offset):
    """Also where the mean is large beside the spread."""
    targets = offset + rng.standard_normal(60)
    predicted = targets + 0.5 * rng.standard_normal(60)
    score = RSquared()
    for block in blocks(targets, predicted):
        score.add(*block)
    exact = 1 - ((targets - predicted) ** 2).sum() / ((targets - targets.mean()) ** 2).sum()
    assert score.report() == f"R^2 on 60 rows: {exact:.4f}"


@pytest.mark.parametrize(("targets", "predicted", "expected"), [
    # The mean of 1 - 1 / 2, without the row that lacks a target, and of 1, a constant predicted exactly.
    ([[1.0, 5.0], [np.nan, 5.0], [3.0, 5.0]], [[1.0, 5.0], [0.0, 0.0], [2.0, 5.0]], "R^2 on 2 rows: 0.7500"),
    ([3.0], [2.0], "R^2 is not defined on one row"),
    ([2.0, 2.0], [2.0, 1.0], "R^2 on 2 rows: 0.0000"),
    ([1e200, -1e200], [1e200, 0.0], "R^2 on 2 rows: 0.5000")],
    ids=["several", "one row", "constant", "overflowing squares"])
def test_r_squared_of_special_targets(targets, predicted, expected):
    score = RSquared()
    score.add(np.array(targets), np.array(predicted))
    assert score.report() == expected


@pytest.mark.parametrize(("score", "classes"), [(Accuracy(), [np.zeros(2)]), (RSquared(), [])])
def test_another_number_of_targets(score, classes):
    with pytest.raises(InvalidInputError, match=r"expected 2 target\(s\) for each row, got 1"):
        score.add(np.zeros(3), np.zeros((3, 2)), *classes)
    assert score.n_rows == 0


def written(form, *data):
    """What a file has after some data of a writer."""
    file = io.BytesIO()
    form.write(file, data)
    return file.getvalue()


def test_csv():
    form = CsvWriter(["id", "prediction", "probability of a", "probability of b, c"])
    assert written(form) == b'id,prediction,probability of a,"probability of b, c"\n'
    rows = form.rows(np.array(["a", 'b "c"']), np.array([[0.75, 0.25], [0.1, 0.9]]), [["1", "two\nlines"]])
    assert rows.decode() == '1,a,0.75,0.25\n"two\nlines","b ""c""",0.1,0.9\n'
    assert form.rows(np.array(["é,"]), np.array([[1 / 3, 2 / 3]]), [["x"]]).decode() == \
        'x,"é,",0.3333333333333333,0.6666666666666666\n'


def test_csv_of_several_targets():
    form = CsvWriter(["prediction 0", "prediction 1"])
    assert form.rows(np.array([[1.5, 2.0], [-1e-9, 1e300]]), None, []) == b"1.5,2.0\n-1e-09,1e+300\n"


@pytest.mark.parametrize("values", [[1, -2], [True, False], [0.1, 1e22], ["", "a"], ["a,b", 'c"', "\r", "\n", " d "],
                                    ["é", "\x1b"]])
@pytest.mark.parametrize("words", [[], ["", "a,b", "\r\n", 'q"', " ", "x"]])
def test_pythons_csv_reads_what_was_written(values, words):
    words = [words[: len(values)]] if words else []
    text = CsvWriter([]).rows(np.array(values), None, words).decode()
    expected = [list(map(str, row)) for row in zip(*words, values, strict=True)]
    assert list(csv.reader(io.StringIO(text, newline=""))) == expected


@pytest.mark.parametrize("blocks", [
    [np.array([1, 2]), np.array([3])], [np.array(["ab", "c"])], [np.array([[0.5, 1.0]]), np.zeros((3, 2))],
    [np.array([True, False])], [np.zeros(0)],
], ids=str)
def test_npy(blocks):
    form = pickle.loads(pickle.dumps(NpyWriter(blocks[0].dtype, blocks[0].shape[1:])))
    found = np.load(io.BytesIO(written(form, *(form.rows(block, None, []) for block in blocks))), allow_pickle=False)
    np.testing.assert_array_equal(found, np.concatenate(blocks))
    assert found.dtype == blocks[0].dtype


def test_npy_of_probabilities_holds_nothing_else():
    form = NpyWriter(np.dtype(np.float64), (2,))
    data = form.rows(np.array(["a", "b"]), np.array([[0.75, 0.25], [0.5, 0.5]]), [])
    assert np.load(io.BytesIO(written(form, data))).tolist() == [[0.75, 0.25], [0.5, 0.5]]


def test_the_header_of_many_rows_fits():
    assert len(npy_prefix("|b1", (0,))) == len(npy_prefix("<U1000000", (10**15, 10**9))) == 128


def test_several_quantiles_are_columns(command, folder):
    """In place of the prediction, the first of them, which a reader would take for the middle."""
    (folder / "t.csv").write_text("x,p\n" + "".join(f"{k % 17},{2 * (k % 17) + 37 * k % 11 / 5}\n" for k in range(200)))
    assert command("fit", "t.csv", "-o", "q.npz", "--model", "fourier_boosting_regressor", "--set", "loss=quantile",
                   "--set", "quantile=[0.1,0.5,0.9]", "--set", "n_estimators=20")[0] == 0
    model, X = load(folder / "q.npz"), np.arange(3.0)[:, None]
    (folder / "x.csv").write_text("x\n0\n1\n2\n")
    _, out, _ = command("predict", "q.npz", "x.csv", "--interval", "0.8")
    lines = out.splitlines()
    assert lines[0] == "quantile 0.1,quantile 0.5,quantile 0.9,lower 80 %,upper 80 %"
    found = np.array([line.split(",") for line in lines[1:]], dtype=float)
    np.testing.assert_array_equal(found[:, :3], model.predict_quantiles(X))
    _, out, _ = command("predict", "q.npz", "x.csv", "--names", "identifiers", "--round", "1")
    assert out.splitlines()[0] == "quantile_0_1,quantile_0_5,quantile_0_9"
    assert command("predict", "q.npz", "x.csv", "-o", "q.npy")[0] == 0
    np.testing.assert_array_equal(np.load(folder / "q.npy"), model.predict_quantiles(X))
    judged = json.loads(command("evaluate", "q.npz", "t.csv", "--json")[1])["pinball"]
    for jobs in ("1", "2"):
        _, _, errors = command("predict", "q.npz", "t.csv", "--target", "p", "-o", "o.csv", "--jobs", jobs)
        assert errors == f"pinball loss on 200 rows: {judged:.4g}\n"


def test_a_target_without_any_label_of_the_model(command):
    code, _, errors = command("predict", "m.npz", "test.csv", "-o", "o.csv", "--target", "length")
    assert code == 0
    assert "no row has a label of the model, such as 'no', so no score is reported" in errors
    assert "accuracy" not in errors
