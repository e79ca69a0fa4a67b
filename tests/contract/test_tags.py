"""What scikit-learn, where it is installed, is told of a family."""

import pytest

from rffkern._estimator.registry import FAMILIES

pytest.importorskip("sklearn")


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_tags(name):
    model = FAMILIES[name].load()()
    tags = model.__sklearn_tags__()
    task = FAMILIES[name].task
    assert tags.estimator_type == (None if task == "transformer" else task)
    assert tags.target_tags.required
    assert (tags.classifier_tags is not None) == (task == "classifier")
    assert (tags.regressor_tags is not None) == (task == "regressor")
    assert tags.input_tags.sparse
    assert tags.input_tags.allow_nan == (model.columns is not None)
    assert not model.set_params(columns=None).__sklearn_tags__().input_tags.allow_nan
    if task == "transformer":
        assert tags.transformer_tags.preserves_dtype == ["float64", "float32"]
