"""The changes that tools/mutate.py makes."""

import ast
import pathlib

import mutate
from mutation.mutants import mutants_of

ROOT = pathlib.Path(__file__).parent.parent

PYTHON = '''
def f(a: int = 3) -> "int":
    """Text + text 1."""
    if not a and (a) <= max(a, 0.5):
        self.a += 1
        return None
    return a
'''
PYTHON_CHANGES = {"= 4)", "if (a) and", "or (a)", "(a) < max", "min(a", "0, 1.0)", "a, 1.0)", "-= 1", "+= 0", "pass",
                  "return None"}
CYTHON = '''
def f(const double[::1] x,  # IN 1 + 1
      int n):
    """Text + text 1."""
    cdef Py_ssize_t i
    cdef double *p = &x[0]
    for i in range(n):
        x[i] = -x[i] * 0.5
'''


def test_python():
    content = PYTHON.encode()
    changed = {mutant.applied(content).decode() for mutant in mutants_of("f.py", content)}
    for text in changed:
        ast.parse(text)
        assert '"""Text + text 1."""' in text
        assert '-> "int"' in text
    assert len(changed) == 10
    for change in PYTHON_CHANGES - {"0, 1.0)"}:
        assert any(change in text for text in changed), change


def test_cython():
    content = CYTHON.encode()
    changed = {mutant.applied(content).decode() for mutant in mutants_of("f.pyx", content)}
    assert {text for text in changed if "# IN 1 + 1" not in text or "Text + text 1" not in text} == set()
    for change in ("&x[1]", "/ 0.5", "* 1.0", "        pass"):
        assert any(change in text for text in changed), change
    assert len(changed) == 4


def test_every_source_has_mutants_that_are_valid():
    for path in (ROOT / "rffkern" / "_estimator").glob("*.py"):
        content = path.read_bytes()
        for mutant in mutants_of(path.name, content):
            changed = mutant.applied(content)
            assert changed != content
            compile(changed, path.name, "exec")


def test_the_tests_of_a_file_are_found():
    own = "tests/_gbrff/test_gbrff2.py"
    assert list(mutate.stages("_gbrff/gbrff2.py")) == [
        [own], ["tests/_gbrff", f"--ignore={own}"], ["tests/contract", "-k", "gbrff"]]
    own = "tests/_kernels/test_linalg.py"
    assert list(mutate.stages("_kernels/linalg.pyx")) == [
        [own], ["tests/_kernels", f"--ignore={own}"],
        ["tests/_pbrff", "tests/_sparse", *mutate.TOP_TESTS, f"--ignore={own}"],
        ["tests/contract", "-k", "pbrff or sparse"]]
    assert next(mutate.stages("serialize.py")) == ["tests/test_serialize.py"]
    assert next(mutate.stages("_gbrff/fit.py")) == ["tests/_gbrff"]
