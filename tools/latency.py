"""Time of one row, step by step through an estimator, and beside other libraries in the same run.

    python tools/latency.py [--repeat 9]

A model of 100 trees or terms, 20 columns, two classes, double precision, one thread.  The steps of an answer are timed
one by one, and then whole answers of rffkern and of what is installed of LightGBM, XGBoost and ONNX Runtime, which take
turns.  Times are CPU time, the least of the repetitions: other work on the machine can only add to them.
"""

import argparse
import itertools
import time

import common.one_thread  # noqa: F401
import numpy as np

from rffkern import FourierBoostingClassifier, GBRFF2Classifier
from rffkern._data.validation import check_array


def microseconds(functions, repetitions, seconds=0.05):
    """Least CPU time of a call of each function, in turns: {name: microseconds}."""
    counts, least = {}, dict.fromkeys(functions, float("inf"))
    for name, function in functions.items():
        started = time.process_time()
        for _ in range(20):
            function()
        counts[name] = max(20, int(20 * seconds / max(time.process_time() - started, 1e-6)))
    for _, (name, function) in itertools.product(range(repetitions), functions.items()):
        rounds = itertools.repeat(None, counts[name])
        started = time.process_time()
        for _ in rounds:
            function()
        least[name] = min(least[name], (time.process_time() - started) / counts[name])
    return {name: 1e6 * value for name, value in least.items()}


def show(title, times):
    """Print a table."""
    print(f"\n{title}")
    for name, value in times.items():
        print(f"  {name:<58}{value:8.2f} us")


def steps(model, row):
    """The steps of `predict`, each with those that it is made of after it."""
    expansion, scores = model.expansion_, model.expansion_.score_checked(row)
    return {
        "predict": lambda: model.predict(row),
        "  decision_function": lambda: model.decision_function(row),
        "    _snapshot: a copy of all attributes": model._snapshot,
        "    _raw_scores": lambda: model._raw_scores(row),
        "      _check_rows, where a look is not enough": lambda: model._check_rows(row),
        "        check_array: 2-D, not empty, finite": lambda: check_array(row),
        "      expansion_.score_checked": lambda: expansion.score_checked(row),
        "      expansion_.score_plain: a look and the score": lambda: expansion.score_plain(row),
        "  _labels_of: from scores to labels": lambda: model._labels_of(scores),
        "predict_proba": lambda: model.predict_proba(row),
        "expansion_.score": lambda: expansion.score(row),
    }


def onnx_session(model):
    """A session of ONNX Runtime that computes the same function, and the name of its input."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    expansion = model.expansion_
    stored = {"center": expansion.center, "omegas": expansion.omegas.T.copy(), "phases": expansion.phases,
              "amplitudes": expansion.amplitudes, "intercept": expansion.intercept}
    names = [("Sub", ["X", "center"]), ("MatMul", ["0", "omegas"]), ("Sub", ["1", "phases"]), ("Cos", ["2"]),
             ("MatMul", ["3", "amplitudes"]), ("Add", ["4", "intercept"])]
    nodes = [helper.make_node(kind, inputs, [str(k)]) for k, (kind, inputs) in enumerate(names)]
    single = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in stored.items()]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, width])
            for name, width in (("X", expansion.n_features), ("5", expansion.n_outputs))]
    graph = helper.make_graph(nodes, "scores", ends[:1], ends[1:], single)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])


def rivals(model, X, y):
    """Answers of other libraries for one row: {name: function}."""
    found, row = {}, X[:1].copy()
    try:
        import lightgbm

        trees = lightgbm.LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1).fit(X, y)
        found |= {"LightGBM Booster.predict": lambda: trees.booster_.predict(row, num_threads=1),
                  "LightGBM LGBMClassifier.predict": lambda: trees.predict(row)}
    except ImportError as error:
        print(f"left out: LightGBM ({error})")
    try:
        import xgboost

        forest = xgboost.XGBClassifier(n_estimators=100, n_jobs=1).fit(X, y)
        found |= {"XGBoost Booster.inplace_predict": lambda: forest.get_booster().inplace_predict(row),
                  "XGBoost XGBClassifier.predict": lambda: forest.predict(row)}
    except ImportError as error:
        print(f"left out: XGBoost ({error})")
    try:
        session, single = onnx_session(model), row.astype(np.float32)
        found["ONNX Runtime, this GBRFF2 model, float32"] = lambda: session.run(None, {"X": single})
    except ImportError as error:
        print(f"left out: ONNX Runtime ({error})")
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=9, help="repetitions, of which the least time counts")
    repetitions = parser.parse_args().repeat
    X = np.random.default_rng(0).standard_normal((2000, 20))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    gbrff2 = GBRFF2Classifier(100, random_state=0).fit(X, y)
    boosting = FourierBoostingClassifier(100, n_bags=1, columns=None, kernel_ridge=False, early_stopping_rounds=None,
                                         random_state=0)
    models = {"GBRFF2, 100 cosines": gbrff2, "Fourier boosting, 100 terms": boosting.fit(X, y)}
    row = X[:1].copy()
    for name, model in models.items():
        show(f"{name}: steps", microseconds(steps(model, row), repetitions))
    answers = {f"{name}: {method}": lambda model=model, method=method: getattr(model, method)(row)
               for name, model in models.items() for method in ("predict", "decision_function", "predict_proba")}
    show("one row, whole answers", microseconds(answers | rivals(gbrff2, X, y), repetitions))


if __name__ == "__main__":
    main()
