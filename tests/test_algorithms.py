"""Pages for readers of the code name files and functions that exist, and nothing of the index is missing."""

import pathlib
import re

import pytest

from rffkern._training.fourier_boosting.parameters import defaults_for

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "algorithms").glob("*.md"))
FAMILIES = [page for page in PAGES if page.name != "index.md"]
FOR_READERS = [*PAGES, ROOT / "docs" / "terms.md", ROOT / "CONTRIBUTING.md"]
SOURCES = [path for folder in ("rffkern", "tests", "tools", "examples")
           for path in (ROOT / folder).rglob("*")
           if path.suffix in (".py", ".pyx", ".pxd", ".pyi", ".h", ".c", ".build", ".sh", ".md")]
NAMED = re.compile(r"`([\w/]+\.(?:py|pyx)):([\w.]+)`")


def defines(source, name):
    """Whether a source defines a function, class or constant of a name; a method is "Class.method"."""
    owner, _, method = name.partition(".")
    if not method:
        return re.search(rf"^(?:(?:def|class|cdef|cpdef)\b[^(=\n]*\b{owner}\b *[(:]|{owner}\b[^(\n]* = )", source, re.M)
    found = re.search(rf"^(?:cdef )?class {owner}\b.*\n((?:[ \t].*\n|\n)*)", source, re.M)
    return found and re.search(rf"^    (?:def|cdef|cpdef)\b[^(=\n]*\b{method}\b *\(", found.group(1), re.M)


@pytest.mark.parametrize("page", FAMILIES, ids=lambda page: page.stem)
def test_every_function_named_exists(page):
    named = NAMED.findall(page.read_text(encoding="utf-8"))
    assert len(named) >= 8
    missing = [f"{path}:{name}" for path, name in named
               if not (ROOT / "rffkern" / path).is_file()
               or not defines((ROOT / "rffkern" / path).read_text(encoding="utf-8"), name)]
    assert not missing


def test_a_name_that_is_only_used_counts_as_missing():
    source = "from x import train\n\n\nclass Loss:\n    def start(self):\n        return train()\n"
    assert defines(source, "Loss")
    assert defines(source, "Loss.start")
    assert not defines(source, "train")
    assert not defines(source, "start")
    assert not defines(source, "Loss.train")


@pytest.mark.parametrize("page", FOR_READERS, ids=lambda page: page.stem)
def test_every_file_named_exists(page):
    named = re.findall(r"`([\w./]*\w\.(?:py|pyx|pxd|pyi|h|c|sh|md))`(?! of\s+commit)", page.read_text(encoding="utf-8"))
    paths = [f"/{path.as_posix()}" for path in (*SOURCES, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))]
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in paths)] == []


@pytest.fixture(scope="module")
def words():
    """All words of the sources."""
    return {word for path in SOURCES for word in re.findall(r"\w+", f"{path.stem} {path.read_text(encoding='utf-8')}")}


@pytest.mark.parametrize("page", FOR_READERS, ids=lambda page: page.stem)
def test_every_name_of_several_words_is_in_the_code(page, words):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    named = [word for code in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"\b[A-Za-z_]\w*_\w+", code)]
    assert [word for word in named if word not in words] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_index_names_every_page():
    index = (ROOT / "docs" / "algorithms" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in FAMILIES if f"]({page.name})" not in index] == []


def test_the_sizes_of_fourier_boosting_are_those_of_the_code():
    page = (ROOT / "docs" / "algorithms" / "fourier_boosting.md").read_text(encoding="utf-8")
    rows = {name.strip(): [float(cell) for cell in cells.split("|")]
            for name, cells in re.findall(r"^\| ([^|]+) \| ([\d. |]+) \|$", page, re.M)}
    found = [defaults_for(n) for n in (1000, 3000, 30_000, 300_000)]
    assert rows["bags $E$"] == [each.n_bags for each in found]
    assert rows["folds"] == [each.n_folds for each in found]
    assert rows["patience, rounds"] == [each.patience for each in found]
    rates = [each.fourier_rate for each in found]
    assert rows["rate of Fourier terms"] == pytest.approx(rates, 5e-3)
    assert rows["rate of trees"] == pytest.approx([each.tree_rate for each in found], 5e-3)
