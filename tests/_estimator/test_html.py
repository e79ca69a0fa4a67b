"""What notebooks show of a model."""

import html.parser

import numpy as np
import pytest
from helpers.families import fit, known

from rffkern import ColumnMap, GBRFF2Classifier, SparseKernelRegressor
from rffkern._estimator.registry import FAMILIES


class Reader(html.parser.HTMLParser):
    """Text by element, and whether every element ends."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append((self.open[-1], data))


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_parameter_is_shown(name):
    model = FAMILIES[name].load()(random_state=7)
    found = Reader(model._repr_html_())
    assert not found.open
    (tag, title), *cells = found.cells
    assert (tag, title) == ("summary", f"{type(model).__name__}, not fitted")
    assert [text for _, text in cells[::2]] == list(model.get_params(deep=False))
    assert [text for _, text in cells[1::2]] == [repr(value) for value in model.get_params(deep=False).values()]
    assert [text for tag, text in cells if tag == "th"] == ["random_state", "7"]


def test_what_is_odd_or_long():
    model = GBRFF2Classifier(gamma="<script>", columns=ColumnMap(categorical_features=["<b>&"]))
    assert ("th", "'<script>'") in Reader(model._repr_html_()).cells
    assert "<script>" not in model._repr_html_()
    long = SparseKernelRegressor(kernel={"length_scale": [0.123456789] * 1000})
    assert len(long._repr_html_()) < 3000


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_fitted_family_has_a_head(name):
    family = FAMILIES[name].load()
    model = fit(family, **known(family, n_estimators=3))
    found = Reader(model._repr_html_())
    assert found.cells[0] == ("td", "predicts")
    texts = [text for _, text in found.cells]
    assert "6" in texts
    if name.startswith("fourier_boosting"):
        assert any(" rows held out in training" in text for text in texts)


def test_fitted_models_say_so():
    X = np.arange(20.0)[:, None]
    assert "GBRFF2Classifier, fitted" in GBRFF2Classifier(2).fit(X, X[:, 0] > 9)._repr_html_()
    model = GBRFF2Classifier(2).fit(X, np.where(X[:, 0] > 9, "<b>", "c"))
    model.metadata_ = {"target": "<i>", "rows": 20, "held_out": {
        "rows": 5, "accuracy": 0.8, "standard_errors": {"accuracy": 0.1}, "constant": {"accuracy": 0.6}}}
    found = Reader(model._repr_html_())
    assert not found.open
    texts = [text for _, text in found.cells]
    assert texts[:2] == ["predicts", "2 classes (<b>, c)"]
    assert {"<i>", "20", "2 fourier", "accuracy on 5 held-out rows", "0.80 +- 0.10, of a guess 0.6"} <= {*texts}
    assert "n_estimators" in texts
    assert "ColumnMap, fitted" in ColumnMap().fit(X)._repr_html_()
    assert "ColumnMap, not fitted" in ColumnMap().set_fit_request(sample_weight=True)._repr_html_()
