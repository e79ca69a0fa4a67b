"""The numbers of a report, against what follows from the public methods of a model alone."""

import json
import math

import numpy as np
import pytest
from helpers.families import NAMES, TARGET, Frame, X, Y, known, quick

import rffkern
from rffkern._estimator.registry import FAMILIES
from rffkern._report.facts import SECTIONS, Source, report_facts
from rffkern._report.labelled_rows import LabelledRows
from rffkern._report.page import report_page

pytestmark = pytest.mark.slow

PREDICTORS = [name for name, family in FAMILIES.items() if family.task in ("classifier", "regressor")]


def facts_of(model, X, y=None, **source):
    """The sections as a JSON file has them."""
    return json.loads(json.dumps(report_facts(LabelledRows(model, X, y), Source(**source)), allow_nan=False))


def messy_table(n_rows=400, seed=0):
    """Numbers, words, dates, missing values, an identifier and a constant, and what decides the labels."""
    rng = np.random.default_rng(seed)
    size = np.where(rng.random(n_rows) < 0.1, np.nan, rng.standard_normal(n_rows))
    colour = rng.choice(["red", "green", "blue"], n_rows, p=[0.5, 0.3, 0.2])
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, n_rows)
    table = {"size": size, "colour": colour, "day": day.astype("datetime64[s]"),
             "id": np.array([f"u{k:05d}" for k in rng.permutation(n_rows)]), "one": np.ones(n_rows)}
    score = np.nan_to_num(size) + 2 * (colour == "red") - 1
    return table, score, rng


@pytest.fixture(scope="module")
def messy():
    """A model of two classes on a table of all kinds, and rows that it was not trained on."""
    table, score, rng = messy_table()
    y = np.where(score + 0.5 * rng.standard_normal(len(score)) > 0, "yes", "no")
    model = rffkern.FourierBoostingClassifier(60, n_bags=2, random_state=0).fit(table, y)
    table, score, rng = messy_table(seed=1)
    y = np.where(score + 0.5 * rng.standard_normal(len(score)) > 0, "yes", "no")
    y[table["colour"] == "blue"] = np.where(rng.random((table["colour"] == "blue").sum()) < 0.5, "yes", "no")
    return model, table, y, facts_of(model, table, y)


def test_every_section_is_there_or_left_out_with_a_reason(messy):
    facts = messy[-1]
    assert {*facts} == {"head", "data", "receipt", "left_out", *SECTIONS} - {*facts["left_out"]}
    assert not {*facts["left_out"]} & {"data", "validation", "confusion", "importances", "slices", "drift"}


def test_columns_as_read(messy):
    columns = {each["column"]: each for each in messy[-1]["data"]["columns"]}
    assert columns["size"]["missing"] == np.isnan(messy[1]["size"]).mean()
    assert columns["colour"]["levels"] == {level: int((messy[1]["colour"] == level).sum())
                                           for level in ("red", "green", "blue")}
    assert columns["day"]["range"] == [str(messy[1]["day"].min())[:10], str(messy[1]["day"].max())[:10]]
    dropped = {row["column"]: row["reason"] for row in messy[0].column_map_.describe() if row["form"] == "dropped"}
    assert {name: each["dropped"] for name, each in columns.items() if "dropped" in each} == dropped
    assert "id" in dropped
    assert sum(columns["size"]["histogram"]["counts"]) == (~np.isnan(messy[1]["size"])).sum()


def error_of_share(share, n):
    """With two rows more that are right and two that are wrong."""
    return math.sqrt(share * (1 - share) / (n - 1) + 4 * ((1 - share)**2 + share**2) / (n + 4)**2)


def test_figures_and_tables(messy):
    model, table, y, facts = messy
    predicted, proba = model.predict(table), model.predict_proba(table)
    found = facts["validation"]
    accuracy = (predicted == y).mean()
    assert found["accuracy"] == pytest.approx(accuracy)
    assert found["standard_errors"]["accuracy"] == pytest.approx(error_of_share(accuracy, len(y)))
    assert found["log_loss"] == pytest.approx(-np.log(proba[np.arange(len(y)), (y == "yes").astype(int)]).mean())
    assert facts["confusion"]["counts"] == [[float(((y == a) & (predicted == b)).sum()) for b in ("no", "yes")]
                                            for a in ("no", "yes")]
    assert f"the model on {100 * accuracy:.1f} %" in facts["head"]["sentence"]
    assert sum(facts["calibration"]["histogram"]) == len(y)
    assert sum(each["share"] * each["rows"] for each in facts["calibration"]["bins"]) == pytest.approx(
        (y == "yes").sum())


def test_permutation_importance(messy):
    """A column that decides, by shuffles of our own, and one that is not used."""
    model, table, y, facts = messy
    found = {each["column"]: each for each in facts["importances"]["columns"]}

    def loss(rows):
        return -np.log(model.predict_proba(rows)[np.arange(len(y)), (y == "yes").astype(int)])

    rng = np.random.default_rng(5)
    gains = [loss(table | {"colour": rng.permutation(table["colour"])}).mean() - loss(table).mean() for _ in range(40)]
    each = found["colour"]
    assert abs(each["importance"] - np.mean(gains)) < 4 * math.hypot(np.std(gains) / math.sqrt(5), 1e-3)
    assert 0 < each["standard_error"] < each["importance"]
    assert "id" not in found or found["id"].get("trained") == 0
    assert each["trained"] == model.feature_importances_[1]


def test_dependence_is_the_mean_response_of_rows_that_get_a_value(messy):
    model, table, _, facts = messy
    found = {each["column"]: each for each in facts["dependence"]["columns"]}
    for column, kind in (("colour", None), ("size", float), ("day", None)):
        for k, text in enumerate(found[column]["values"]):
            value = (np.nan if text == "missing" else float(found[column]["positions"][k])) if kind else text
            changed = table | {column: np.full(len(table["size"]), value, dtype=table[column].dtype)}
            expected = model.predict_proba(changed)[:, 1].mean()
            # Values that are imputed from the column stay as they are.
            assert found[column]["means"][k][0] == pytest.approx(expected, abs=2e-3 if kind else 1e-2)
    shares = [float((table["colour"] == level).mean()) for level in found["colour"]["values"]]
    assert found["colour"]["shares"] == shares
    assert max(found["size"]["ticks"]) == np.nanmax(table["size"])
    pair = facts["interactions"]["dependence"][0]
    assert np.shape(pair["means"]) == tuple(map(len, pair["values"]))


def test_the_slice_that_was_made_worse_is_named(messy):
    model, table, y, facts = messy
    first = facts["slices"]["slices"][0]
    wrong = model.predict(table) != y
    assert (first["column"], first["text"]) == ("colour", "blue")
    own = wrong[table["colour"] == "blue"]
    assert first["loss"] == pytest.approx(own.mean())
    assert first["n_rows"] == len(own)
    assert first["standard_error"] == pytest.approx(own.std(ddof=1) / math.sqrt(len(own)))
    assert first["p_value"] < 1e-3
    n_rows, n_wrong, size = len(wrong), int(wrong.sum()), len(own)
    exact = sum(math.comb(n_wrong, k) * math.comb(n_rows - n_wrong, size - k)
                for k in range(int(own.sum()), min(size, n_wrong) + 1)) / math.comb(n_rows, size)
    assert math.log10(first["p_value"]) == pytest.approx(math.log10(exact * facts["slices"]["compared"]), rel=0.15)


def test_slices_of_errors_by_chance_are_not_called_worse():
    """Of 100 reports on errors that depend on no column about five may name one."""
    rng = np.random.default_rng(0)
    model = rffkern.GBRFF2Classifier(3, random_state=0).fit(X, Y)
    n_named = 0
    for _ in range(100):
        table = rng.standard_normal((300, 6))
        labels = model.predict(table)
        labels[rng.random(300) < 0.2] = "up"
        rows = LabelledRows(model, table, labels)
        rows.__dict__["losses"] = (rng.random(300) < 0.2).astype(float)
        found = SECTIONS["slices"](rows, {})
        n_named += any(each["p_value"] < 0.05 for each in found["slices"])
    assert n_named <= 12


def test_worst_rows_are_those_of_the_largest_loss(messy):
    model, table, y, facts = messy
    own = model.predict_proba(table)[np.arange(len(y)), (y == "yes").astype(int)]
    found = facts["worst_rows"]["rows"]
    assert [each["row"] - 1 for each in found] == np.argsort(own, kind="stable")[: len(found)].tolist()
    assert found[0]["probability_of_label"] == pytest.approx(own.min())
    assert found[0]["values"]["colour"] == table["colour"][found[0]["row"] - 1]


def test_contributions_are_those_of_the_model(messy):
    model, table, y, facts = messy
    found = facts["shapley"]
    some = {name: values[np.linspace(0, len(y) - 1, 200).astype(int)] for name, values in table.items()}
    expected = model.explain(some)
    for each in found["columns"]:
        own = expected.values[:, list(table).index(each["column"])]
        assert each["mean_absolute"] == pytest.approx(np.abs(own).mean(), abs=1e-12)
        assert each["values"] == pytest.approx(own.tolist(), abs=1e-12)
        assert each["standard_error"] == pytest.approx(np.abs(own).std(ddof=1) / math.sqrt(200), abs=1e-12)
    sums = np.sum([each["values"] for each in found["columns"]], axis=0) + found["base_value"]
    assert sums == pytest.approx(model.decision_function(some), abs=1e-9)
    ranks = {each["column"]: each["ranks"] for each in found["columns"]}
    assert np.corrcoef(some["day"].astype(float), ranks["day"])[0, 1] > 0.99
    assert [rank is None for rank in ranks["size"]] == np.isnan(some["size"]).tolist()
    assert {*ranks["colour"]} == {None}  # more than two levels
    for each in facts["worst_rows"]["rows"]:
        row = model.explain({name: values[[each["row"] - 1]] for name, values in table.items()}).values[0]
        first = each["reasons"][0]
        sign = 1 if each["predicted"] == "yes" else -1
        assert first["contribution"] == pytest.approx((sign * row).max())
        assert first["column"] == list(table)[int((sign * row).argmax())]


def test_coverage_is_that_of_sets_and_intervals(messy):
    model, table, y, facts = messy
    for each in facts["intervals"]["coverages"]:
        sets = model.predict_set(table, each["coverage"])
        contained = sets[np.arange(len(y)), (y == "yes").astype(int)]
        assert each["share"] == contained.mean()
        assert each["size"] == sets.sum(axis=1).mean()
        assert each["standard_error"] == pytest.approx(error_of_share(contained.mean(), len(y)))
    regressor = rffkern.FourierBoostingRegressor(20, n_bags=2, random_state=0).fit(X, TARGET)
    found = {each["coverage"]: each for each in facts_of(regressor, X, TARGET)["intervals"]["coverages"]}
    low, high = regressor.predict_interval(X, 0.8).T
    assert found[0.8]["share"] == ((low <= TARGET) & (high >= TARGET)).mean()
    assert found[0.8]["size"] == pytest.approx((high - low).mean())


def test_drift_is_that_of_the_model(messy):
    model, table, _, facts = messy
    expected = model.drift(table)
    assert {name: facts["drift"][name] for name in expected} == json.loads(json.dumps(expected))


@pytest.mark.parametrize("family", [family if family == "gbrff2" else pytest.param(family, marks=pytest.mark.slow)
                                    for family in PREDICTORS])
def test_every_family_has_a_report(family):
    cls = FAMILIES[family].load()
    y = Y if FAMILIES[family].task == "classifier" else TARGET
    model = cls(**known(cls, n_estimators=5) | quick(cls)).fit(Frame(X[:300], NAMES), y[:300])
    facts = facts_of(model, Frame(X[300:], NAMES), y[300:], target="y")
    assert facts["validation"]["rows"] == 100
    assert facts["dependence"]["columns"]
    assert facts["slices"]["compared"] > 5
    if "drift" in facts["left_out"]:
        assert "reference" in facts["left_out"]["drift"]
    assert len(report_page(facts)) < 500_000


def test_many_classes_quantiles_targets_and_weird_rows():
    rng = np.random.default_rng(0)
    many = np.array([f"class {k}" for k in range(25)])[(np.abs(X[:, 0]) * 10).astype(int).clip(0, 24)]
    model = rffkern.GBRFF2Classifier(2, random_state=0).fit(X, many)
    facts = facts_of(model, X, many)
    assert len(facts["confusion"]["counts"]) <= 21
    assert np.sum(facts["confusion"]["counts"]) == len(X)
    assert len(facts["dependence"]["shown"]) == 6
    assert len(report_page(facts)) < 500_000
    model = rffkern.FourierBoostingRegressor(20, n_bags=2, loss="quantile", quantile=(0.1, 0.5, 0.9), random_state=0)
    facts = facts_of(model.fit(X, TARGET), X, TARGET)
    assert [each["share"] for each in facts["calibration"]["below"]] == [
        float((each >= TARGET).mean()) for each in model.predict_quantiles(X).T]
    assert facts["slices"]["loss"] == "pinball loss"
    assert "confusion" in facts["left_out"]
    report_page(facts)
    both = np.column_stack([TARGET, -X[:, 1]])
    model = rffkern.FourierBoostingRegressor(20, n_bags=1, random_state=0).fit(X, both)
    report_page(facts_of(model, X, both))
    report_page(facts_of(model, X[:1], both[:1]))
    one = rffkern.FourierBoostingRegressor(5, n_bags=1, random_state=0).fit(X[:, :1], rng.poisson(3.0, len(X)))
    report_page(facts_of(one, np.full((30, 1), 0.5), np.ones(30)))
    report_page(facts_of(one, np.full((2, 1), 1e300), np.array([1e150, -1e150])))
    for unit in (1e200, 1e307):
        report_page(facts_of(one, X[:, :1], unit * TARGET))


def test_without_labels_all_else_is_there(messy):
    model, table, *_ = messy
    facts = facts_of(model, table, no_target="nobody knows")
    assert {*facts["left_out"].values()} == {"nobody knows"}
    assert {"dependence", "interactions", "drift", "importances", "data"} <= {*facts}
    assert "nobody knows" in report_page(facts)


def test_bad_labels_are_refused(messy):
    model, table, y, _ = messy
    with pytest.raises(rffkern.InvalidInputError, match="y must have one entry per row"):
        LabelledRows(model, table, y[:5])
    with pytest.raises(rffkern.InvalidInputError, match="labels of the model, such as 'no', got 'other'"):
        LabelledRows(model, table, np.full(len(y), "other"))
    rows = LabelledRows(model, table, np.where(np.arange(len(y)) < 3, "other", y))
    facts = report_facts(rows, Source())
    assert facts["data"]["target"]["unknown"] == {"rows": 3, "labels": ["other"]}
    assert "3 rows have labels that the model does not know" in report_page(facts)
