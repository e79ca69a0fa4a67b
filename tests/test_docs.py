"""Documentation says what is true: examples run, and parameters, attributes and arguments are those that there are."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re
import runpy
import shlex
import shutil

import numpy as np
import pytest

import rffkern
from rffkern._cli.main import main
from rffkern._cli.output import EXIT_CODES
from rffkern._estimator.registry import FAMILIES

ROOT = pathlib.Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PUBLIC = [name for name in rffkern.__all__ if name[0].isupper()]
SECTIONS = ("Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "Examples",
            "References")


OPTIONAL = {"dask", "distributed", "PyInstaller"}


def modules():
    """All modules of the package but those that need an optional package which is not there."""
    for info in pkgutil.walk_packages(rffkern.__path__, "rffkern."):
        if info.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(info.name)
        except ImportError as error:
            if ((error.__cause__ or error).name or "").partition(".")[0] not in OPTIONAL:
                raise


def section(doc, title):
    """The entries of a numpydoc section as (names, kind, text); none where there is no such section."""
    match = re.search(rf"^{title}\n-+\n(.*?)(?=^(?:{'|'.join(SECTIONS)})\n-+$|\Z)", inspect.cleandoc(doc), re.S | re.M)
    entries = re.split(r"^(?=\S)", match.group(1), flags=re.M) if match else []
    found = []
    for entry in filter(str.strip, entries):
        head, _, text = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        found.append(([name.strip() for name in names.split(",")], kind, " ".join(text.split())))
    return found


def names_in(doc, title):
    """Names that a section describes, in its order."""
    return [name for names, *_ in section(doc, title) for name in names]


def public_methods(cls):
    """Methods that a class shows in `help()`, by name."""
    return {name: method for name, method in inspect.getmembers(cls, inspect.isfunction) if not name.startswith("_")}


def arguments_of(function):
    return [name for name in inspect.signature(function).parameters if name != "self"]


@pytest.fixture(params=sorted(FAMILIES))
def cls(request):
    return FAMILIES[request.param].load()


def test_every_public_name_is_in_the_reference():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "site" / "python").glob("*.rst"))
    described = re.findall(r"^\.\. auto(?:class|function|module):: (?:rffkern\.)?(\w+)$", pages, re.M)
    assert sorted(described) == sorted(name for name in rffkern.__all__ if not name.startswith("__"))


@pytest.mark.slow
def test_docstring_examples():
    results = [doctest.testmod(module) for module in modules()]
    assert sum(result.attempted for result in results) >= 9
    assert sum(result.failed for result in results) == 0


@pytest.mark.parametrize("name", PUBLIC)
def test_public_classes_are_documented(name):
    item = getattr(rffkern, name)
    assert inspect.cleandoc(item.__doc__).splitlines()[0].endswith(".")
    if not issubclass(item, (Exception, Warning)):
        assert ">>> " in item.__doc__.partition("Examples\n")[2]
        assert not re.search(r"^ *\{\w+\}$", item.__doc__, re.M)
        assert "Draws of `random_state`: ." not in item.__doc__
        documented = [names_in(item.__doc__, section) for section in ("Parameters", "Other Parameters")]
        arguments = arguments_of(item.__init__)
        assert sorted([*documented[0], *documented[1]]) == sorted(arguments)
        for names in documented:  # each section in the order of the arguments
            assert names == [name for name in arguments if name in names]
        assert len(documented[0]) <= 14  # in sight of a newcomer


def test_every_parameter_has_its_true_default(cls):
    for name, parameter in inspect.signature(cls.__init__).parameters.items():
        if name == "self":
            continue
        entries = section(cls.__doc__, "Parameters") + section(cls.__doc__, "Other Parameters")
        ((_, kind, text),) = [entry for entry in entries if name in entry[0]]
        stated = kind.rpartition(", default ")[2]
        assert stated == (f'"{parameter.default}"' if isinstance(parameter.default, str) else repr(parameter.default))
        assert len(text) > 20
        assert text.endswith(".")


def test_every_parameter_accepts_its_default(cls):
    cls()._check_params()
    assert [parameter.name for parameter in cls._parameters] == arguments_of(cls.__init__)


def test_the_domain_of_a_parameter_is_what_its_check_accepts(cls):
    """Bounds in the text are bounds in the code: the ends of a range are accepted, what is beyond is refused."""
    n_checked = 0
    for name, check, *_ in cls._parameters:
        interval = re.search(r"(int|float) in ([\[(])([^,]+), ([^\]]+)\]", check.domain)
        half_line = re.search(r"(int|float) (>=?) ([^\s,]+)", check.domain)
        if interval:
            kind, opening, low, high = interval.groups()
        elif half_line:
            kind, opening, low, high = half_line[1], "[" if half_line[2] == ">=" else "(", half_line[3], "1000"
        else:
            continue
        low, high = (int(float(low)), int(float(high))) if kind == "int" else (float(low), float(high))
        check(name, high)
        for value in [low if opening == "(" else low - 1] + ([high * 2 + 1] if interval else []):
            with pytest.raises(rffkern.InvalidInputError, match=f"^{name} must be"):
                check(name, value)
        if opening == "[":
            check(name, low)
        n_checked += 1
    assert n_checked >= 3


def small_fit(cls):
    """A model of a few terms, with every kind of attribute: column names, and losses on an `eval_set`."""
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = X[:, 0] if FAMILIES[cls.family].task == "regressor" else np.where(X[:, 0] > 0, "a", "b")
    small = {"n_estimators": 3, "n_landmarks": 3, "n_components": 4, "max_epochs": 2}
    model = cls(random_state=0, **{name: value for name, value in small.items() if name in arguments_of(cls.__init__)})
    held_out = {"eval_set": (X, y)} if "eval_set" in arguments_of(cls.fit) else {}
    return model.fit(X, y, **held_out)


def test_attributes_are_those_that_a_fit_leaves(cls):
    model = small_fit(cls)  # whose attributes may be properties, too
    left = {name for name in dir(model) if name.endswith("_") and not name.startswith("_") and hasattr(model, name)}
    assert set(names_in(cls.__doc__, "Attributes")) - {"feature_names_in_"} == left
    assert "feature_names_in_" in cls.__doc__  # which is there only where `fit` saw column names


def test_every_attribute_is_described(cls):
    for _, kind, text in section(cls.__doc__, "Attributes"):
        assert kind
        assert len(text) > 10
        assert text.endswith(".")


def test_methods_list_their_arguments(cls):
    """All of them in their order, or none where the summary says it all."""
    for name, method in public_methods(cls).items():
        assert method.__doc__, f"{cls.__name__}.{name} has no docstring"
        described = names_in(method.__doc__, "Parameters")
        assert described in ([], arguments_of(method)), f"{cls.__name__}.{name}"
    for name in ("fit", "partial_fit"):
        if hasattr(cls, name):
            assert names_in(getattr(cls, name).__doc__, "Parameters") == arguments_of(getattr(cls, name))


@pytest.mark.parametrize("name", [name for name in rffkern.__all__ if not name.startswith("__")])
def test_docstrings_are_finished(name):
    """No placeholder is left in them, and no class sends its reader to another class for what a parameter is."""
    item = getattr(rffkern, name)
    functions = public_methods(item).values() if inspect.isclass(item) else []
    for doc in [item.__doc__, *(function.__doc__ for function in functions)]:
        if doc is None:
            continue
        assert not re.search(r"^\s*\{\w+\}\s*$", doc, re.M)
        assert "As of" not in doc
        assert "as of `" not in doc.lower()


def test_functions_list_their_arguments():
    for function in (rffkern.dumps, rffkern.load, rffkern.loads, rffkern.save, rffkern.show_config,
                     rffkern.Expansion.score):
        assert names_in(function.__doc__, "Parameters") == arguments_of(function)


def test_the_reader_of_sections_sees_what_is_wrong():
    """The functions above find entries, kinds and texts; else every test here would pass for nothing."""
    doc = """Summary.

    Parameters
    ----------
    a : int, default 1
        The first,
        in two lines.
    b, c : floats

    Attributes
    ----------
    d_ : array
        The last.
    """
    first, second = section(doc, "Parameters")
    assert first == (["a"], "int, default 1", "The first, in two lines.")
    assert second == (["b", "c"], "floats", "")
    assert names_in(doc, "Attributes") == ["d_"]
    assert names_in(doc, "Returns") == []


def anchors(page):
    """Headings of a page as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_dead(page):
    for path, anchor in re.findall(r"\]\((?!http)([^)#\s]*)#?([^)\s]*)\)", page.read_text(encoding="utf-8")):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


@pytest.mark.parametrize("name", [name for name in FAMILIES if name.startswith(("gbrff", "pbrff", "rff", "sparse"))])
def test_classes_of_papers_name_their_errata(name):
    named = re.findall(r"docs/errata\.md#([\w-]+)", FAMILIES[name].load().__doc__)
    assert len(named) == 1
    assert named[0] in anchors(ROOT / "docs" / "errata.md")


def test_every_page_can_be_reached():
    """The guide, or the index of the algorithms, has a link to each page of docs/."""
    for folder in (ROOT / "docs", ROOT / "docs" / "algorithms"):
        index = (folder / "index.md").read_text(encoding="utf-8")
        assert all(f"]({page.name})" in index for page in folder.glob("*.md") if page.name != "index.md")


def test_the_page_of_messages_says_what_the_code_says():
    """Exit codes and what to do are those of `rffkern help`, and each message, with its gaps, is in the source."""
    text = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8")
    plain = text.replace("`", "")
    assert re.findall(r"^\| (\d+) \| (.*) \|$", plain, re.M) == [
        (str(code), meaning) for code, (meaning, _) in EXIT_CODES.items()]
    sections = re.findall(r"^### E(\d+)\n\n(.*?)\n\n", plain, re.M | re.S)
    assert [(code, " ".join(advice.split())) for code, advice in sections] == [
        (str(code), advice) for code, (_, advice) in EXIT_CODES.items() if advice]
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "rffkern").rglob("*.py"))
    source = re.sub(r'"\s*\n\s*f?"', "", source)  # of texts in several lines
    messages = re.findall(r"^\| `(.+?)` \| ", text, re.M)
    assert messages == sorted(messages, key=str.lower)
    for message in messages:
        assert re.search(".+?".join(map(re.escape, message.split("..."))), source)


def blocks(page):
    """Fenced blocks of a page: their languages and texts."""
    return re.findall(r"^```(sh|python)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with the tables that pages read."""
    folder = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        runpy.run_path(str(ROOT / "examples" / "tables.py"))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "docs" and blocks(page)],
                         ids=lambda page: page.stem)
def test_blocks_of_a_page_run(page, tables, tmp_path, monkeypatch):
    """Python as it stands, and of the shell the commands of the package, in the order of the page."""
    for package in ("pandas", "pyarrow", "sklearn", "matplotlib"):
        pytest.importorskip(package)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.syspath_prepend(ROOT / "examples")
    folder = shutil.copytree(tables, tmp_path / "here")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    names = {}
    for language, code in blocks(page):
        if language == "python":
            exec(compile(code, page.name, "exec"), names)
        else:
            for line in code.replace("\\\n", "").splitlines():
                if line.startswith("rffkern "):
                    assert main(shlex.split(line, comments=True)[1:]) == 0, line


def test_readme_example(tmp_path, monkeypatch, capsys):
    """The Python example of the README runs as it stands and prints what its comments say."""
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL).group(1)
    assert len(code.strip().splitlines()) <= 12
    exec(compile(code, "README.md", "exec"), {})
    assert float(capsys.readouterr().out.split()[0]) > 0.9
