"""The table of families agrees with the classes that it names."""

import importlib
import inspect
import re

import numpy as np
import pytest
from helpers.families import BOOSTED

import rffkern
from rffkern._estimator.base import Model
from rffkern._estimator.registry import FAMILIES
from rffkern._estimator.tasks import Classifier, Regressor


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_class_is_where_the_table_says(name):
    entry = FAMILIES[name]
    cls = entry.load()
    assert cls.__name__ == entry.class_name
    assert cls.__module__ == f"rffkern.{entry.module}"
    assert vars(cls)["family"] == name
    assert entry.load() is cls is getattr(rffkern, entry.class_name)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_task_is_what_the_class_does(name):
    cls = FAMILIES[name].load()
    task = next(task for base, task in ((Classifier, "classifier"), (Regressor, "regressor"), (Model, "transformer"))
                if issubclass(cls, base))
    assert FAMILIES[name].task == task
    assert hasattr(cls, "predict_proba") == (task == "classifier")
    assert hasattr(cls, "predict") == (task != "transformer")
    assert hasattr(cls, "transform") or task != "transformer"


@pytest.mark.parametrize("name", sorted(name for name, family in FAMILIES.items() if family.task == "classifier"))
def test_numbers_in_place_of_labels_are_for_the_regressor_of_the_family(name):
    regressor = {"gbrff1": "gbrff", "gbrff2": "gbrff", "pbrff": "fourier_boosting"}.get(name, name) + "_regressor"
    message = f"0.5: numbers are for a regressor, as {FAMILIES[regressor].class_name}, on the command line --model "
    with pytest.raises(rffkern.InvalidInputError, match=f"{re.escape(message)}{regressor}$"):
        FAMILIES[name].load()().fit(np.arange(40.0)[:, None], np.arange(40) % 2 + 0.5)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_families_that_learn_in_rounds(name):
    assert ("n_estimators" in FAMILIES[name].load()._param_names()) == (name in BOOSTED)


def test_class_names_and_places_are_distinct():
    assert len({entry.class_name for entry in FAMILIES.values()}) == len(FAMILIES)
    assert {entry.class_name for entry in FAMILIES.values()} <= set(rffkern.__all__)


@pytest.mark.parametrize("module", sorted({entry.module for entry in FAMILIES.values()}))
def test_every_public_estimator_is_in_the_table(module):
    """A class with a constructor of its own that is forgotten in the table could be neither saved nor chosen."""
    found = importlib.import_module(f"rffkern.{module}")
    own = {name for name, cls in inspect.getmembers(found, inspect.isclass)
           if issubclass(cls, Model) and cls.__module__ == found.__name__ and not name.startswith("_")}
    assert own == {entry.class_name for entry in FAMILIES.values() if entry.module == module}


def test_other_classes_have_no_family():
    class GBRFF2Classifier(Classifier):
        """The name of a family, but elsewhere."""

    assert not hasattr(GBRFF2Classifier, "family")
    with pytest.raises(rffkern.InvalidInputError, match="model must be a fitted estimator or an exp"):
        rffkern.save(GBRFF2Classifier(), "nowhere")


def test_a_subclass_of_a_family_has_no_family_of_its_own():
    model = type("Mine", (rffkern.GBRFF2Classifier,), {})(2).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.raises(rffkern.InvalidInputError, match="model must be a fitted estimator or an exp"):
        rffkern.save(model, "nowhere")
