"""The pages of docs/algorithms name files and functions that exist, and nothing of the index is missing."""

import pathlib
import re

import pytest

from rffkern._training.fourier_boosting.parameters import defaults_for

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "algorithms").glob("*.md"))
FAMILIES = [page for page in PAGES if page.name != "index.md"]
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
