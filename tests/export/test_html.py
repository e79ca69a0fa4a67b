"""The page that scores a CSV file, in Chromium: what it shows is what Python gives."""

import html
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
from helpers import exported_tables
from helpers.engines import errors_of, lacking, results_of, rows_of
from helpers.exported import model_of

import rffkern
from rffkern._export.engines import run_html

pytestmark = pytest.mark.slow

ZIG = importlib.util.find_spec("ziglang") and f"{shlex.quote(sys.executable)} -m ziglang cc"
COMPILERS = [None, pytest.param(ZIG, marks=pytest.mark.skipif(ZIG is None, reason="ziglang not found"), id="wasm")]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HOSTILE = ["</script><script>document.title = 'owned'</script>", "<!--<script>", 'a & b, "c"']
_DROP = """<script type="module">
const files = new DataTransfer();
files.items.add(new File([%s], "new.csv"));
document.getElementById("drop").dispatchEvent(new DragEvent("drop", {bubbles: true, cancelable: true,
    dataTransfer: files}));
</script></body>"""


def dropped(model, text, folder, compiler=None):
    """Title, state and rows of the page after a file was dropped into it."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    path = folder / "page.html"
    rffkern.export(model, path, to="html", compiler=compiler)
    page = path.read_text(encoding="utf-8")
    assert page.count("</body>") == 1
    path.write_text(page.replace("</body>", _DROP % json.dumps(text).replace("<", "\\u003c")), encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'browser'}",
               "--virtual-time-budget=20000", "--dump-dom"]
    done = subprocess.run([CHROMIUM, *options, path.as_uri()], capture_output=True, text=True, check=True)
    title, state = (re.search(pattern, done.stdout, re.DOTALL).group(1) for pattern in (
        "<title>(.*?)</title>", 'role="status"[^>]*>(.*?)</p>'))
    body = re.search("<tbody>(.*?)</tbody>", done.stdout, re.DOTALL).group(1)
    rows = [[html.unescape(cell) for cell in re.findall("<td[^>]*>(.*?)</td>", row)]
            for row in re.findall("<tr>(.*?)</tr>", body)]
    return html.unescape(title), html.unescape(state), rows


_STUB = """
const listeners = {}, parts = {}, element = () => ({classList: {toggle() {}}, append() {}, replaceChildren() {},
    addEventListener(kind, listener) { listeners[kind] = listener; }});
globalThis.document = {getElementById: (id) => parts[id] ??= element(), createElement: element,
    querySelector: element, addEventListener: element().addEventListener};
%s
parts.file.value = "";
listeners.change({target: {files: [{name: "new.csv", text: async () => %s}]}});
setTimeout(() => console.log(JSON.stringify([parts.state.textContent, saved])), 500);
"""


def answered(model, text, folder, **options):
    """State of the page and rows that it would save, after a file was chosen: its script in node, without a page."""
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    rffkern.export(model, folder / "page.html", to="html", **options)
    script = (folder / "page.html").read_text(encoding="utf-8").rpartition('<script type="module">')[2]
    (folder / "page.mjs").write_text(_STUB % (script.partition("</script>")[0], json.dumps(text)), encoding="utf-8")
    done = subprocess.run(["node", folder / "page.mjs"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_blanks_around_names(tmp_path):
    """Of the file, as programs write them after commas, and of the model, as pandas keeps them."""
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    for names in (["a", "b"], [" a", "b"]):
        model = rffkern.GBRFFRegressor(3, random_state=0).fit(dict(zip(names, X.T, strict=True)), X[:, 0])
        state, saved = answered(model, "id, a , b\n1, 0.5, -0.5\n", tmp_path)
        assert state.startswith("new.csv: 1 rows")
        assert saved[1][0] == pytest.approx(model.predict([[0.5, -0.5]])[0], rel=1e-12)


def test_the_line_that_names_a_delimiter_and_quotes_behind_blanks(tmp_path):
    """As Excel and other programs write them, and the shell reads them."""
    table = {"w": ["x, y", "z"] * 30, "v": np.arange(60.0)}
    model = rffkern.GBRFFRegressor(3, random_state=0).fit(table, table["v"])
    expected = pytest.approx(model.predict({"w": ["x, y"], "v": [1.0]})[0], rel=1e-12)
    for text in ("\ufeffsep=;\r\nw;v\r\nx, y;1\r\n", "SEP=#\nw#v\nx, y#1\n", 'v,w\n "1",  "x, y"\n'):
        state, saved = answered(model, text, tmp_path)
        assert (state[:15], saved[1][0]) == ("new.csv: 1 rows", expected)


def test_numbers_are_read_as_in_training(tmp_path):
    """With marks and words for missing values, also where all columns are numbers; without a map plain numbers."""
    x = np.random.default_rng(0).uniform(1000, 9000, 100).round(2)
    model = rffkern.GBRFFRegressor(3, random_state=0).fit({"x0": [f"{value:,.2f}" for value in x]}, x)
    expected = model.predict({"x0": ["1,250.50", "1250.50", "NA"]})
    text = 'x0,x1\n"1,250.50",7\n1250.50,7\nNA,7\n'
    assert [row[0] for row in answered(model, text, tmp_path)[1][1:]] == pytest.approx(expected.tolist(), rel=1e-9)
    model = rffkern.GBRFFRegressor(3, random_state=0).fit(np.column_stack([x, x % 7]), x)
    saved = answered(model, text, tmp_path)[1]
    assert saved[1][0] == saved[3][0] == ""
    assert saved[2][0] == pytest.approx(model.predict([[1250.5, 7.0]])[0], rel=1e-9)


def test_files_that_the_shell_refuses(tmp_path):
    """Rows of fewer or more cells, bytes that are no UTF-8, and two columns of a name; lines of blanks are no rows."""
    table = {"word": ["Zürich", "Bern"] * 30, "x": np.arange(60.0)}
    model = rffkern.GBRFFRegressor(3, random_state=0).fit(table, table["x"])
    expected = model.predict({"word": ["Bern"], "x": [7.0]})[0]
    state, saved = answered(model, "word,x\nBern\n  \nBern,7,8\nBern,7\n", tmp_path)
    assert state.startswith("new.csv: 3 rows")
    assert [row[0] for row in saved[1:3]] == ["", ""]
    assert saved[3][0] == pytest.approx(expected, rel=1e-12)
    assert "no text in UTF-8" in answered(model, "word,x\nZ\ufffdrich,7\n", tmp_path)[0]
    assert answered(model, "word,x,x\nBern,7,8\n", tmp_path)[0] == "the file has two columns x"
    columns = {"name": [f"person {i}" for i in range(60)], "x": table["x"]}
    model = rffkern.GBRFFRegressor(3, columns=rffkern.ColumnMap(), random_state=0).fit(columns, table["x"])
    assert answered(model, "id,x,id\n1,7,1\n", tmp_path)[0].startswith("new.csv: 1 rows")


def test_reasons_are_plain_numbers(tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    model = rffkern.GBRFFRegressor(3, random_state=0).fit(dict(zip("ab", X.T, strict=True)), 1e6 * X[:, 0])
    _, saved = answered(model, "a,b\n0.9,0\n", tmp_path, explain=True)
    assert re.fullmatch("a \\+[0-9]+00, b [+\N{MINUS SIGN}][0-9.]+", saved[1][1])


@pytest.mark.parametrize("compiler", COMPILERS)
def test_words_dates_gaps_and_a_row_that_cannot_be_read(compiler, tmp_path):
    """Columns by name, in any order and with any delimiter; labels, levels and cells are text, whatever they hold."""
    rng = np.random.default_rng(0)
    word, mass = rng.choice(HOSTILE, 300), rng.uniform(1, 900, 300)
    table = {"</script> word": [None if k % 9 == 0 else str(each) for k, each in enumerate(word)],
             "since": [f"{k % 28 + 1} March {2000 + k % 20}" for k in range(300)],
             "mass": [f"{x:.1f} kg" for x in mass]}
    labels = np.where((mass > 400) ^ (word == HOSTILE[1]), "<img src=x onerror=\"document.title='owned'\">", "no")
    model = rffkern.FourierBoostingClassifier(15, n_bags=1, kernel_ridge=False, random_state=0).fit(table, labels)
    rows = [("1,250.5 kg", HOSTILE[0], "3 March 2024"), ("7 kg", HOSTILE[2], "2024-03-03"), ("", "new", ""),
            ("n/a", HOSTILE[1], "")]
    quoted = [['"' + cell.replace('"', '""') + '"' for cell in row] for row in rows]
    lines = [f"{m};x;{w};{s}\r\n" for m, w, s in quoted]
    text = "".join(["\ufeffmass;other;</script> word;since\r\n", *lines, "5 lb;x;y;\n"])
    title, state, shown = dropped(model, text, tmp_path, compiler)
    assert title == "Predictions: FourierBoostingClassifier"
    assert state.startswith("new.csv: 5 rows in ")
    given = {"</script> word": [w or None for _, w, _ in rows], "since": [s or None for *_, s in rows],
             "mass": [m or None for m, *_ in rows]}
    for row, label, proba, cells in zip(shown, model.predict(given), model.predict_proba(given), rows, strict=False):
        assert row == [label, *(f"{p:.4f}" for p in proba), cells[0], "x", *cells[1:]]
    assert 'column "mass"' in shown[4][0]


def test_numbers_and_what_is_missing(tmp_path):
    X = np.random.default_rng(0).standard_normal((100, 2))
    model = rffkern.KernelRidgeRegressor(random_state=0).fit(X, np.column_stack([X[:, 0], X[:, 1] - X[:, 0]]))
    expected = model.predict([[1.5, -2.0]])[0]
    _, _, shown = dropped(model, "x1,x0\n-2,1.5\nword,1\n", tmp_path)
    assert [float(cell) for cell in shown[0][:2]] == pytest.approx(expected, rel=1e-5)
    assert "must hold numbers, got word" in shown[1][0]
    _, state, shown = dropped(model, "x1,x2\n1,2\n", tmp_path)
    assert (state, shown) == ("the file has no column x0", [])


def test_columns_without_use_may_have_any_text_or_be_absent(tmp_path):
    x = np.random.default_rng(0).standard_normal(100)
    table = {"name": [f"person {i}" for i in range(100)], "x": x}
    model = rffkern.GBRFF2Classifier(3, columns=rffkern.ColumnMap(), random_state=0).fit(table, x > 0)
    assert [row[0] for row in dropped(model, "x,name\n2,someone\n-2,\nNA,x\n", tmp_path)[2]][:2] == ["true", "false"]
    assert [row[0] for row in dropped(model, "x\n2\n", tmp_path)[2]] == ["true"]


@pytest.mark.skipif(ZIG is None or bool(lacking("node")), reason="ziglang or node not found")
@pytest.mark.parametrize("case", ["words and gaps, quantiles", "kernels in regions"])
def test_webassembly_gives_what_javascript_gives(case, tmp_path):
    """All bits: of the exponential function too, which is JavaScript's."""
    explain = case in exported_tables.CASES
    if explain:
        model, table = exported_tables.case_of(case)
        X = table(100, 1)
    else:
        model, X = model_of(case)
    expected, found = results_of(model, X, explain), []
    for compiler in (None, ZIG):
        rffkern.export(model, tmp_path / "page.html", to="html", compiler=compiler, explain=explain)
        found.append(run_html(str(tmp_path / "page.html"), rows_of(model, X), expected))
    assert errors_of(found[1], found[0]) == (0, 0, 0, 1, 0 if explain else None, None)


def test_a_compiler_that_makes_no_webassembly(tmp_path):
    model = rffkern.GBRFF2Classifier(2, random_state=0).fit([[0.0], [1.0]], [0, 1])
    for compiler in ("false", "no-such-compiler", "'"):
        with pytest.raises(rffkern.InvalidInputError, match="compiler must be a command that compiles C"):
            rffkern.export(model, tmp_path / "page.html", to="html", compiler=compiler)
    assert not list(tmp_path.iterdir())
