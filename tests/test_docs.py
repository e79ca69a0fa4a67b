"""Examples in docstrings and in the README run and print what they say."""

import doctest
import importlib
import pathlib
import pkgutil
import re

import pytest

import rffkern

README = pathlib.Path(__file__).parent.parent / "README.md"


def modules():
    for info in pkgutil.walk_packages(rffkern.__path__, "rffkern."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def test_docstring_examples():
    results = [doctest.testmod(module) for module in modules()]
    assert sum(result.attempted for result in results) >= 9
    assert sum(result.failed for result in results) == 0


@pytest.mark.parametrize("name", [name for name in rffkern.__all__ if name[0].isupper()])
def test_public_classes_are_documented(name):
    item = getattr(rffkern, name)
    assert item.__doc__
    if not issubclass(item, (Exception, Warning)):
        assert "Examples\n" in item.__doc__
        assert "Parameters\n" in item.__doc__


def test_readme_example(tmp_path, monkeypatch, capsys):
    """The Python example of the README runs as it stands and prints what its comments say."""
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL).group(1)
    assert len(code.strip().splitlines()) <= 12
    exec(compile(code, "README.md", "exec"), {})
    assert float(capsys.readouterr().out.split()[0]) > 0.9
