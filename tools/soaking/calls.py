"""Every public call over the worst tables: in time, in finite numbers, or refused with an error of the package."""

import copy
import functools
import itertools
import time
import warnings

import numpy as np
from helpers.children import in_child

import rffkern
from rffkern import (
    ColumnMap,
    Expansion,
    FourierTerms,
    KernelTerms,
    LinearTerms,
    RFFKernError,
    RowBlocks,
    TreeTerms,
)
from rffkern._export import TARGETS as EXPORT_TARGETS
from soaking import training

CALL_SECONDS = 20.0  # of CPU; the longest of the small models here takes two or three
CASE_SECONDS = 300
NUMERIC_FORMS = ("raw", "standard", "bounded", "rank", "bins")
PUBLIC = {name: getattr(rffkern, name) for name in rffkern.__all__}  # imported before the forks, not in each of them


def _one_place(rng):
    X = rng.standard_normal((200, 5))
    X[rng.integers(200), rng.integers(5)] = rng.choice([1e300, -1.7e308, 1e12])
    return X


TABLES = {
    "constant": lambda rng: np.full((200, 5), 10.0 ** rng.uniform(-300, 300)),
    "zeros": lambda rng: np.zeros((100, 3)),
    "duplicated rows": lambda rng: rng.standard_normal((3, 4))[rng.integers(0, 3, 500)],
    "all of 1e300": lambda rng: rng.choice([-1e300, 1e300], (200, 5)),
    "one large number": _one_place,
    "one row": lambda rng: rng.standard_normal((1, 5)),
    "two rows": lambda rng: rng.standard_normal((2, 5)),
    "one column": lambda rng: rng.standard_normal((500, 1)),
    "heavy tails": lambda rng: np.nan_to_num(rng.standard_t(0.2, (400, 6)), posinf=1e308, neginf=-1e308),
    "10,000 columns": lambda rng: rng.standard_normal((40, 10_000)),
    "denormals": lambda rng: rng.integers(-9, 9, (200, 4)) * 5e-324,
    "huge integers": lambda rng: rng.integers(-(2**63), 2**63 - 1, (200, 4)),
    "unsigned integers": lambda rng: rng.integers(2**63, 2**64 - 1, (200, 4), dtype=np.uint64),
    "booleans": lambda rng: rng.random((300, 8)) < 0.5,
    "half precision": lambda rng: (rng.standard_normal((200, 4)) * 3e4).astype(np.float16),
    "single precision": lambda rng: (rng.standard_normal((200, 4)) * 1e38).astype(np.float32),
    "other byte order": lambda rng: rng.standard_normal((200, 4)).astype(">f8"),
    "scales": lambda rng: rng.standard_normal((300, 12)) * 10.0 ** rng.uniform(-300, 300, 12),
    "offsets": lambda rng: rng.standard_normal((300, 12)) + 10.0 ** rng.uniform(0, 18, 12),
    "the same column": lambda rng: np.repeat(rng.standard_normal((300, 1)), 9, axis=1),
    "views": lambda rng: rng.standard_normal((9, 600))[::-2, ::3].T,
    "sorted": lambda rng: np.sort(rng.standard_normal((700, 2)), axis=0),
    "no rows": lambda rng: np.empty((0, 4)),
    "no columns": lambda rng: np.empty((20, 0)),
    "missing": lambda rng: np.where(rng.random((200, 4)) < 0.01, np.nan, 1.0),
    "infinite": lambda rng: np.where(rng.random((200, 4)) < 0.01, np.inf, 1.0),
    "objects": lambda rng: rng.integers(0, 9, (100, 3)).astype(object),
    "text": lambda rng: rng.integers(0, 9, (100, 3)).astype(str),
    "complex": lambda rng: rng.standard_normal((100, 3)) * 1j,
}
LABELS = {
    "two classes": lambda rng, n: rng.integers(0, 2, n),
    "one class": lambda rng, n: np.zeros(n, int),
    "a rare class": lambda rng, n: np.arange(n) == n // 2,
    "many classes": lambda rng, n: np.arange(n) // 2 % 40,
    "a class of each row": lambda rng, n: np.arange(min(n, 60)).repeat(-(-n // max(1, min(n, 60))))[:n],
    "text": lambda rng, n: rng.choice(["", "a", "\u00e4" * 300], n),
    "huge integers": lambda rng, n: rng.choice([-(2**63), 2**63 - 1], n),
    "objects": lambda rng, n: rng.choice(np.array([0, "0"], object), n),
}
TARGETS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "constant": lambda rng, n: np.full(n, 3.0),
    "1e300": lambda rng, n: rng.choice([-1e300, 1e300], n),
    "denormals": lambda rng, n: rng.integers(0, 9, n) * 5e-324,
    "one outlier": lambda rng, n: np.where(np.arange(n) == n // 2, 1e150, 1.0),
    "heavy tails": lambda rng, n: np.nan_to_num(rng.standard_t(0.2, n), posinf=1e308, neginf=-1e308),
    "huge integers": lambda rng, n: rng.integers(-(2**63), 2**63 - 1, n),
}


def _fresh(model):
    return type(model)(**model.get_params())


def _partial_fit(model, X, y):
    fresh = _fresh(model)
    for rows in (slice(0, 1), slice(None)):
        fresh.partial_fit(X[rows], y[rows], *([np.unique(y)] if hasattr(model, "classes_") else []))
    return fresh.predict(X)


def _conformal(model, X, y):
    return copy.copy(model).conformalize(X, y, np.linspace(0.0, 1.0, len(X)))


def _what_if(model, X):
    """The distance to another answer for the first row."""
    answer = np.ravel(model.predict(X[:1]))[0]
    if not hasattr(model, "classes_"):
        return model.what_if(X[0], float(answer + np.abs(answer) / 9)).distance
    return model.what_if(X[0], next((label for label in model.classes_.tolist() if label != answer), answer)).distance


def _routing(model):
    """What scikit-learn routes, where it is installed."""
    try:
        return str(model.get_metadata_routing())
    except ImportError:
        return ""


PROPERTIES = ("feature_importances_", "interaction_pairs_", "kernel_", "kernel_ridge_report_", "length_scale_",
              "posterior_", "reg_lambda_")
MODEL_CALLS = {  # of a fitted model with its rows and labels or targets
    "fit": lambda model, X, y: model.fit(X, y, np.linspace(0.0, 1.0, len(X))).expansion_.intercept,
    "partial_fit": _partial_fit,
    "fit_transform": lambda model, X, y: _fresh(model).fit_transform(X, y),
    "selection_path": lambda model, X, y: model.selection_path(X, y, sizes=[1]).scores,
    "select_top_k": lambda model, X, y: model.select_top_k(1),
    "truncated": lambda model, X, y: model.truncated(1).predict(X),
    "staged_decision_function": lambda model, X, y: list(model.staged_decision_function(X)),
    "staged_predict": lambda model, X, y: list(model.staged_predict(X)),
    "staged_predict_proba": lambda model, X, y: list(model.staged_predict_proba(X)),
    "predict_log_proba": lambda model, X, y: np.exp(model.predict_log_proba(X)),  # -inf of a probability of 0
    "partial_dependence": lambda model, X, y: model.partial_dependence(X, 0).scores,
    "interaction_strength": lambda model, X, y: model.interaction_strength(X, 0, 1),
    "interactions": lambda model, X, y: [pair.size for pair in model.interactions(X)],
    "drift": lambda model, X, y: model.drift(X)["largest_shift"],
    "explain": lambda model, X, y: [np.sum(part) for part in model.explain(X)[:2]],
    "predict": lambda model, X, y: model.predict(X, return_std=True)[1] if isinstance(
        model, rffkern.KernelRidgeRegressor) and len(X) < 500 else model.predict(X),
    "gradient": lambda model, X, y: model.gradient(X[:20]),
    "what_if": lambda model, X, y: _what_if(model, X),
    "predict_interval": lambda model, X, y: _conformal(model, X, y).predict_interval(X, 0.5),
    "predict_set": lambda model, X, y: _conformal(model, X, y).predict_set(X, 0.5).astype(float),
    "conformalize": lambda model, X, y: len(vars(_conformal(model, X, y))),
    "pac_bayes_bound": lambda model, X, y: model.pac_bayes_bound(),
    "score": lambda model, X, y: model.score(X, y),
    "get_metadata_routing": lambda model, X, y: _routing(model),
    "set_fit_request": lambda model, X, y: str(model.set_fit_request(sample_weight=True)),
    "set_partial_fit_request": lambda model, X, y: str(model.set_partial_fit_request(sample_weight=True)),
    "set_score_request": lambda model, X, y: str(model.set_score_request(sample_weight=None)),
    "set_output": lambda model, X, y: str(model.set_output(transform="default")),
    "get_feature_names_out": lambda model, X, y: model.get_feature_names_out().shape,
    "get_params": lambda model, X, y: len(model.get_params()),
    "set_params": lambda model, X, y: len(model.set_params(**model.get_params()).get_params()),
}
MODEL_CALLS |= {name: lambda model, X, y, name=name: getattr(model, name)(X)
                for name in ("predict_proba", "predict_quantiles", "decision_function", "transform")}
MODEL_CALLS |= {name: lambda model, X, y, name=name: str(getattr(model, name))
                for name in ("family", "standardize", *PROPERTIES)}
EXPANSION_CALLS = {
    "score": lambda expansion, X: expansion.score(X),
    "arrays": lambda expansion, X: list(expansion.arrays().values()),
}
MAP_CALLS = {  # of a fitted column map
    "fit": lambda column_map, X, y: column_map.fit(X, y).n_features_in_,
    "transform": lambda column_map, X, y: column_map.transform(X),
    "fit_transform": lambda column_map, X, y: column_map.fit_transform(X, y),
    "describe": lambda column_map, X, y: len(column_map.describe()),
    "get_metadata_routing": lambda column_map, X, y: _routing(column_map),
    "set_fit_request": lambda column_map, X, y: str(column_map.set_fit_request(sample_weight=True)),
    "set_output": lambda column_map, X, y: str(column_map.set_output(transform="default")),
    "get_feature_names_out": lambda column_map, X, y: column_map.get_feature_names_out().shape,
    "get_params": lambda column_map, X, y: len(column_map.get_params()),
    "set_params": lambda column_map, X, y: len(column_map.set_params(**column_map.get_params()).get_params()),
}


def public(kind):
    """Names of what a class offers."""
    return [name for name in dir(kind) if not name.startswith("_")]


def judge(name, call):
    """What is wrong with how a call ends, or None."""
    started = time.process_time()
    try:
        found = call()
    except RFFKernError:
        found = None
    except Exception as error:
        return f"{name}: {type(error).__name__}: {error}"
    seconds = time.process_time() - started
    if seconds > CALL_SECONDS:
        return f"{name}: took {seconds:.1f} s"
    for array in found if isinstance(found, list) else [found]:
        if np.asarray(array).dtype.kind == "f" and not np.isfinite(array).all():
            return f"{name}: not finite"
    return None


def _calls(model, X, y, folder):
    """Names and functions of all calls of a fitted model and of what belongs to it."""
    expansion = getattr(model, "expansion_", None)
    for name in public(type(model)):
        if expansion is None and name in PROPERTIES:
            continue  # hasattr says that they are not there yet
        yield name, lambda name=name: MODEL_CALLS[name](model, X, y)
    for name in public(type(expansion)) if expansion is not None else ():
        yield f"expansion {name}", lambda name=name: EXPANSION_CALLS[name](expansion, _mapped(model, X))
    yield "save", lambda: rffkern.save(model, folder / "model.npz")
    if expansion is not None:
        yield "load", lambda: str(rffkern.load(folder / "model.npz"))
        yield "loads", lambda: str(rffkern.loads(rffkern.dumps(model)))
        yield "shrink", lambda: [step.loss for step in rffkern.shrink(model, X, y, max_loss=0.1).curve]
        yield "c_model", lambda: str(rffkern.c_model(model))
    for to in EXPORT_TARGETS:
        yield f"export {to}", lambda to=to: rffkern.export(model, folder / "exported", to=to)
    yield "export contributions", lambda: rffkern.export(model, folder / "exported", to="c", explain=True)
    column_map = functools.cache(lambda: ColumnMap(NUMERIC_FORMS).fit(X, y))  # once, which is long enough
    for name in public(ColumnMap):
        yield f"map {name}", lambda name=name: MAP_CALLS[name](copy.deepcopy(column_map()), X, y)
    yield "predictions of blocks", lambda: answer(model, RowBlocks([X[:1], X[1:]]))
    yield "show_config", lambda: len(rffkern.show_config(mode="dicts"))
    yield "set_num_threads", lambda: str(rffkern.set_num_threads(None))
    yield "get_include", rffkern.get_include
    yield "c_functions", lambda: str(rffkern.c_functions())


def _mapped(model, X):
    """Rows as the expansion takes them."""
    column_map = getattr(model, "column_map_", None)
    return X if column_map is None else column_map.transform(X)


def answer(model, rows):
    return next(getattr(model, name)(rows) for name in ("decision_function", "predict", "transform")
                if hasattr(model, name))


def _expansions(X):
    """Expansions of extreme numbers over rows of one table."""
    d = X.shape[1]
    if not d:
        return  # no tree has a column to ask for
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.nan_to_num(np.asarray(X[:3], float)) if X.dtype.kind in "fiub" else np.ones((2, d))
    ones = np.ones((len(rows), 1))

    def make(scale, exponent, chosen):  # may be refused, as all that users make
        parts = [FourierTerms(rows * scale, np.zeros(len(rows)), ones), LinearTerms(np.full((d, 1), scale)),
                 TreeTerms(np.arange(len(rows))[:, None] % max(d, 1), rows[:, :1] * scale, np.ones((2 * len(rows), 1))),
                 KernelTerms(rows, ones, np.full(d, scale), [exponent])]
        return Expansion([0.0], np.zeros(d), *(parts[k] for k in chosen))

    for scale, exponent in itertools.product((1.0, 1e-300, 1e200), (1.0, 2.0)):
        for chosen in ([0], [1], [2], [3], [0, 1, 2], [0, 1, 2, 3]):
            yield functools.partial(make, scale, exponent, chosen)


def public_calls(rng, folder):
    """A fit of some family on some table, then every call of the model, its expansion, its file and its blocks."""
    name = str(rng.choice(training.FAMILIES))
    params = training.random_params(name, rng)
    table = str(rng.choice(list(TABLES)))
    kinds = TARGETS if name.endswith("Regressor") else LABELS
    target = str(rng.choice(list(kinds)))
    with np.errstate(over="ignore"):
        X = TABLES[table](rng)
    y = kinds[target](rng, len(X))
    if rng.random() < 0.3:
        params["columns"] = "search"
    progress = folder / "progress"

    def guarded(call_name, call):
        progress.write_text(call_name, encoding="utf-8")
        return judge(call_name, call)

    def work():
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        model = getattr(rffkern, name)(**params)
        wrong = guarded("the first fit", lambda: model.fit(X, y).expansion_.intercept)
        for call_name, call in _calls(model, X, y, folder):
            wrong = wrong or guarded(call_name, call)
        for make in _expansions(X):
            wrong = wrong or guarded("scores of a made expansion", lambda make=make: make().score(X))
        return wrong

    ended = in_child(work, CASE_SECONDS, 4 << 30)
    if ended == ("done", None):
        return None
    at = progress.read_text(encoding="utf-8") if progress.exists() else "at once"
    return f"{name}({params}), {table}, {target}: {ended.value if ended.how == 'done' else f'{at}: {ended}'}"
