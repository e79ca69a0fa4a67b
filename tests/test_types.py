"""What a type checker makes of the package: words of parameters, and the class of a loaded model."""

import re
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest

import rffkern
from rffkern._column_map.column_map import ColumnMap
from rffkern._estimator.registry import FAMILIES

PROGRAM = '''
from typing import reveal_type
import numpy as np
import rffkern
from rffkern import FourierBoostingClassifier, GBRFF2Classifier

reveal_type(rffkern.load("m.npz"))                                     # Model | ColumnMap | Expansion
reveal_type(rffkern.load("m.npz", FourierBoostingClassifier))          # rffkern FourierBoostingClassifier
reveal_type(rffkern.loads(b"", GBRFF2Classifier, ))                    # rffkern GBRFF2Classifier
reveal_type(rffkern.loads(b""))                                        # Model | ColumnMap | Expansion
rffkern.load("m.npz", FourierBoostingClassifier, max_bytes=9).predict([[1.0]])
FourierBoostingClassifier(kernel_ridge="auto", class_weight={"a": 2.0}, random_state=np.random.RandomState(0))
rffkern.KernelRidgeRegressor("gaussian", length_scale=[1.0, 2.0])
FourierBoostingClassifier(kernel_ridge="yes")                          # error
FourierBoostingClassifier(columns="none")                              # error
FourierBoostingClassifier(class_weight="equal")                        # error
FourierBoostingClassifier(learning_rate="scale")                       # error
FourierBoostingClassifier(base_learners=("wave",))                     # error
GBRFF2Classifier(precision="half")                                     # error
GBRFF2Classifier(gamma="auto")                                         # error
rffkern.KernelRidgeRegressor(kernel="rbf")                           # error
rffkern.SparseKernelRegressor(update="all")                            # error
rffkern.RFFNetRegressor(kernel="matern")                               # error
rffkern.ColumnMap(("normal",))                                         # error
rffkern.export(GBRFF2Classifier(), "m.c", to="cpp")                    # error
rffkern.load("m.npz", str)                                             # error
'''


def test_what_a_type_checker_says(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    root = Path(rffkern.__file__).parents[1]
    if root.name != "site-packages":  # where mypy looks by itself, and nobody may point it to
        monkeypatch.setenv("MYPYPATH", str(root))
    monkeypatch.chdir(tmp_path)
    said, errors, _ = api.run(["program.py", "--config-file=", "--ignore-missing-imports", "--follow-imports=silent",
                               "--cache-dir", str(tmp_path / "cache")])
    assert errors == ""
    found = dict(re.findall(r"^program\.py:(\d+): (.*)$", said, flags=re.M))
    for number, line in enumerate(PROGRAM.split("\n"), 1):
        _, _, expected = line.partition("# ")
        message = found.get(str(number), "")
        if expected == "error":
            assert ": error: " in f": {message}", line
        elif expected:
            assert all(word in message for word in expected.split() if word != "|"), (line, message)
        else:
            assert message == "", line


def words_of(annotation):
    """The words of all Literals in an annotation."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    return set().union(*map(words_of, get_args(annotation)))


@pytest.mark.parametrize("cls", [*(family.load() for family in FAMILIES.values()), ColumnMap],
                         ids=lambda cls: cls.__name__)
def test_words_of_annotations_are_those_that_are_accepted(cls):
    for name, check, *_ in cls._parameters:
        annotation = cls.__init__.__annotations__[name]
        of_text = isinstance(annotation, str)  # as that of columns, which names a class that is loaded late
        words = set(re.findall(r"'([\w-]+)'", annotation)) if of_text else words_of(annotation)
        assert str in get_args(annotation) or words == set(re.findall(r'"([\w-]+)"', check.domain)), name
