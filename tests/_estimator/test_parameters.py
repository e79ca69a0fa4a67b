"""Descriptions and checks of parameters, from one list."""

import inspect
import re

import pytest

import rffkern
from rffkern import InvalidInputError
from rffkern._estimator import parameters
from rffkern._estimator.parameters import ARGUMENTS, Attribute, Parameter, describe
from rffkern._protocol.arguments import choice, number

SIZE = Parameter("size", number(int, 1, 9), "How large.")
KIND = Parameter("kind", choice("round", "square"), "Which shape.")


def make_class():
    class Thing:
        """Something.

        {parameters}
        """

        _rare_parameters = ()
        _parameters = (SIZE, KIND)
        _attributes = (Attribute("area_", "float", "Its area."),)
        _arguments = {"labels": Attribute("y", "array", "Labels of its own."), "depth": Attribute("z", "int", "Depth.")}

        def __init__(self, size=2, *, kind="round"):
            self.size, self.kind = size, kind

        def fit(self, X, y):
            """Learn.

            Parameters
            ----------
            {X}
            {labels}
            {depth}
            """

        def plain(self):
            """Not a {placeholder} but text, and a set: {1, 2}."""

        def silent(self):
            pass

    return Thing


def test_describe_fills_in_the_class():
    thing = make_class()
    describe(thing)
    lines = [line.strip() for line in thing.__doc__.splitlines()]
    assert lines[4:8] == ["size : int in [1, 9], default 2", "How large.",
                          'kind : "round" or "square", default "round"', "Which shape."]
    assert lines[-3:-1] == ["area_ : float", "Its area."]
    assert re.search(r"^        size : .*\n            How large\.$", thing.__doc__, re.M), "the indent is kept"


def test_describe_fills_in_methods():
    thing = make_class()
    describe(thing)
    assert "X : array of shape (n_samples, n_features), or RowBlocks\n" in thing.fit.__doc__
    assert "y : array\n" in thing.fit.__doc__, "its own description comes before the shared one"
    assert "Depth." in thing.fit.__doc__
    assert thing.plain.__doc__ == "Not a {placeholder} but text, and a set: {1, 2}."
    assert thing.silent.__doc__ is None


def test_a_method_of_a_base_has_a_docstring_for_each_class():
    kinds = [rffkern.GBRFFClassifier, rffkern.GBRFFRegressor]
    labels, targets = (kind.fit.__doc__ for kind in kinds)
    assert "Labels of any sortable type." in labels
    assert "Finite numbers." in targets
    assert "{fit}" in kinds[0].__mro__[2].fit.__doc__, "the base keeps its template"
    assert all(list(inspect.signature(kind.fit).parameters) == [
        "self", "X", "y", "sample_weight", "eval_set", "callback"] for kind in kinds)


def test_a_name_that_is_nowhere_is_an_error():
    thing = make_class()
    thing.fit.__doc__ = "Learn.\n\n    {nothing}\n"
    with pytest.raises(KeyError, match="nothing"):
        describe(thing)


def test_long_descriptions_are_wrapped():
    lines = SIZE.described("word " * 60).entry(1).splitlines()
    assert len(lines) > 2
    assert all(line.startswith("    ") and len(line) <= 116 for line in lines[1:])
    assert " ".join(line.strip() for line in lines[1:]) == " ".join(["word"] * 60)


def test_described_changes_the_text_alone():
    assert SIZE.described("Other.") == Parameter("size", SIZE.check, "Other.")
    assert Attribute("a", "int", "One.").described("Two.") == Attribute("a", "int", "Two.")


def test_parameters_are_checked_in_their_order():
    model = rffkern.GBRFF2Classifier()
    model._check_params()
    with pytest.raises(InvalidInputError, match=r"^n_estimators must be an integer >= 1 and <= 100000000, got 0$"):
        model.set_params(n_estimators=0, precision="half")._check_params()  # the first that is wrong
    with pytest.raises(InvalidInputError, match=r"^precision must be one of 'single', 'double', got 'half'$"):
        model.set_params(n_estimators=1)._check_params()


SHARED = [value for value in vars(parameters).values() if isinstance(value, Parameter)]


@pytest.mark.parametrize("parameter", SHARED, ids=lambda parameter: parameter.name)
def test_shared_parameters(parameter):
    assert parameter.name.isidentifier()
    assert parameter.check.domain
    assert parameter.text.endswith(".")
    with pytest.raises(InvalidInputError, match=f"^{parameter.name} must be"):
        parameter.check(parameter.name, object())


def test_shared_arguments():
    assert len({id(argument) for argument in ARGUMENTS.values()}) == len(ARGUMENTS)
    for argument in ARGUMENTS.values():
        assert argument.kind
        assert argument.text.endswith(".")
