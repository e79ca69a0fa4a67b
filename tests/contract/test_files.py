"""Model files of every family, and of every version of the format."""

import hashlib
import json
import pathlib

import numpy as np
import pytest
from helpers.families import X, answers, fit, known, same_state, target_of
from helpers.model_files import assert_refused

from rffkern import NotFittedError, TrainingStateError, dumps, load, save
from rffkern._estimator.registry import FAMILIES
from rffkern._files.archive import FORMAT_VERSION, decode, encode

DATA = pathlib.Path(__file__).parent.parent / "data"
STACKS = {"fourier_boosting_kernels", "fourier_boosting_regions"}
EXPANSIONS = {"expansion_boosted", "expansion_fourier", "expansion_kernels", "expansion_regions"}
WITH_MAPS = {"column_map", "column_map_filled", "gbrff2_with_columns", "gbrff2_with_choice"}  # in `_column_map`
FROZEN = sorted(DATA.glob("*/*.npz"))

# SHA-256 of the frozen files of each version: once it is released, neither they nor this line change any more.
DIGESTS = {"1": "968363bfd0b8cdbbf83b8a123fda8fd65269ec24a2d14853e40ae83ac4f67800"}


def test_save_and_load(fitted, tmp_path):
    path = tmp_path / "model.anything"
    save(fitted, path)
    assert [item.name for item in tmp_path.iterdir()] == ["model.anything"]
    loaded = load(path)
    assert type(loaded) is type(fitted)
    assert same_state(fitted, loaded)
    for method in ("decision_function", "predict", "predict_proba", "predict_log_proba", "transform"):
        if hasattr(fitted, method):
            ours, theirs = getattr(fitted, method)(X), getattr(loaded, method)(X)
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype
    assert loaded.get_params() == fitted.get_params()
    for name in fitted._fitted_curves:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def digest_of(folder):
    """One for all files of a folder, and their names."""
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        found.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def test_frozen_files_are_never_changed():
    """`tools/fixtures.py write` writes those of the current version once, for all families."""
    folders = {folder.name: folder for folder in DATA.iterdir() if folder.is_dir()}
    assert {name: digest_of(folder) for name, folder in folders.items()} == DIGESTS
    assert {*folders} == {str(version) for version in range(1, FORMAT_VERSION + 1)}
    expected = {*FAMILIES} | STACKS | EXPANSIONS | WITH_MAPS
    assert {path.stem for path in folders[str(FORMAT_VERSION)].glob("*.npz")} == expected
    assert {path.stem for path in folders[str(FORMAT_VERSION)].glob("*.json")} == expected


@pytest.mark.parametrize("path", [path for path in FROZEN if path.stem not in WITH_MAPS],
                         ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_frozen_files_load(path):
    """A file gives the predictions that the version of the package gave that wrote it."""
    expected = json.loads(path.with_suffix(".json").read_text())
    model, rows = load(path), np.array(expected["rows"])
    if path.stem in FAMILIES:
        assert type(model) is FAMILIES[path.stem].load()
        model._check_params()
    found = model.score(rows) if path.stem in EXPANSIONS else answers(model, rows)
    np.testing.assert_allclose(np.ravel(found), expected["answers"], rtol=0, atol=1e-12)
    if hasattr(model, "classes_"):
        assert model.predict(rows).tolist() == expected["labels"]


@pytest.mark.parametrize("path", [path for path in FROZEN if path.parent.name == str(FORMAT_VERSION)],
                         ids=lambda path: path.stem)
def test_a_frozen_file_is_written_again_as_it_was(path):
    """Nothing that is in a file is lost, and whatever is written otherwise needs another version of the format."""
    header, arrays = decode(path.read_bytes())
    again, same = decode(dumps(load(path)))
    assert {**again, "package": header["package"]} == header
    assert [*same] == [*arrays]
    for name, array in arrays.items():
        np.testing.assert_array_equal(same[name], array, strict=True)


@pytest.mark.slow
def test_a_file_whose_parts_disagree_is_refused(family, tmp_path):
    """Curves, rounds and parameters of kernels belong to the expansion beside them, and classes to classifiers."""
    fitted = fit(family, **known(family, n_estimators=4, n_components=4, n_landmarks=8, basis_size=8, max_epochs=2))
    header, arrays = decode(dumps(fitted))
    foreign = None if hasattr(fitted, "classes_") else {"dtype": "<U1", "values": ["a", "b"]}
    assert_refused(tmp_path / "bad", encode({**header, "classes": foreign}, arrays))
    for name, array in arrays.items():
        # One evaluation for each round, or none at all.
        changes = [array[: 1 if name == "train_loss_" else -1], array[None]] if array.size else [np.zeros(1000)]
        for changed in changes if array.ndim == 1 else changes[:1]:
            entries = [[key, list((changed if key == name else value).shape)] for key, value in arrays.items()]
            data = encode({**header, "arrays": entries}, {**arrays, name: changed})
            assert_refused(tmp_path / "bad", data)


# --- what a file does not keep

GO_ON = {"rffnet": [lambda model, target: model.partial_fit(X, target),
                    lambda model, target: model.set_params(warm_start=True).fit(X, target)],
         "sparse_kernel": [lambda model, target: list(model.staged_predict(X))]}


@pytest.mark.parametrize(("name", "go_on"), [
    (name + task, go_on) for name, ways in GO_ON.items() for task in ("", "_regressor") for go_on in ways])
def test_a_loaded_model_says_that_it_has_no_training_state(name, go_on, tmp_path):
    family = FAMILIES[name].load()
    small = {"max_epochs": 2} if "max_epochs" in family._param_names() else {"n_estimators": 3}
    fitted = fit(family, **small)
    save(fitted, tmp_path / "m")
    loaded = load(tmp_path / "m")
    before = answers(loaded, X)
    go_on(fitted, target_of(family))
    message = rf"this {family.__name__} was read from a file.*call fit again"
    with pytest.raises(TrainingStateError, match=message) as error:
        go_on(loaded, target_of(family))
    assert not isinstance(error.value, NotFittedError)
    np.testing.assert_array_equal(answers(loaded, X), before)  # nothing has changed
    go_on(loaded.set_params(**({"warm_start": False} if "max_epochs" in small else {})).fit(X, target_of(family)),
          target_of(family))


@pytest.mark.parametrize("name", ["gbrff", "gbrff1", "gbrff2", "gbrff_regressor"])
def test_staged_answers_of_a_loaded_model(name, tmp_path):
    """A sum of rounds is in the file, so that nothing is missing."""
    fitted = fit(FAMILIES[name].load(), n_estimators=3)
    save(fitted, tmp_path / "m")
    loaded = load(tmp_path / "m")
    method = "staged_decision_function" if hasattr(fitted, "classes_") else "staged_predict"
    for ours, theirs in zip(getattr(fitted, method)(X), getattr(loaded, method)(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)
