"""Time of exported models: files of `rffkern.export` beside LightGBM and what others make of it."""

import ctypes
import pathlib
import subprocess
import sys
import tempfile
from functools import partial

import numpy as np
from benchmarks.training import clusters
from common.measure import cpu_seconds, result, show

import rffkern

N_TRAINING = 2000

# A loop over rows around a function of one, so that all files are called alike; of more than one row by the function
# of many.
LOOP = """
#include "{name}"
void many(const double *x, long n, double *p)
{{
    for (long i = 0; i < n; i++) {function}(({kind} *)x + {d} * i, p + 2 * i);
}}
"""
ROWS = """
#include "{name}"
void many(const double *x, long n, double *p)
{{
    double h[1024];
    if (n == 1) {function}(x, p);
    else for (long i = 0; i < n; i += 1024) {{
        long m = n - i < 1024 ? n - i : 1024;
        model_score_rows(x + {d} * i, m, h);
        for (long k = 0; k < m; k++) {function}_of(h + k, p + 2 * (i + k));
    }}
}}
"""


def exports(arguments):
    """Probabilities of rows of 20 numbers by exported files, on one thread, and microseconds a row.

    A Fourier boosting model with its defaults but kernel ridge regression, in Python, as C and in ONNX Runtime, beside
    LightGBM of 100 trees: its own `predict`, its graph of onnxmltools in ONNX Runtime, and its C by tl2cgen (treelite)
    and m2cgen.  C is compiled by `cc -O2`, ours also by `cc -O3 -march=native`.  What is not installed, or fails, is
    left out, and why is said.
    """
    X, y = clusters(N_TRAINING)
    labels = (y > 0).astype(int)
    rows = np.ascontiguousarray(np.resize(X, (max(arguments.sizes), X.shape[1])))
    model = rffkern.FourierBoostingClassifier(kernel_ridge=False, random_state=0, n_jobs=1).fit(X, labels)
    print(f"{model.expansion_}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        contenders = {"rffkern": model.predict_proba} | _ours(model, folder)
        expected = model.predict_proba(rows)
        for function in contenders.values():
            assert np.abs(function(rows) - expected).max() < 1e-9
        contenders |= _lightgbm(X, labels, folder)
        for size in arguments.sizes:
            measured = show(result("probabilities by exported models", size, cpu_seconds(
                {name: partial(function, rows[:size]) for name, function in contenders.items()}, arguments.repeat)))
            for name, seconds in measured["seconds"].items():
                print(f"    {name:<28}{1e6 * seconds / size:10.3f} us a row")
            yield measured


def _ours(model, folder):
    rffkern.export(model, folder / "ours.c", to="c")
    found = {f"rffkern, C{', native' * (len(flags) > 1)}": _compiled(
        folder, "ours.c", "model_probabilities", "const double", model.n_features_in_, ROWS, flags)
        for flags in (["-O2"], ["-O3", "-march=native"])}
    rffkern.export(model, folder / "ours.onnx", to="onnx")
    return found | _tried("rffkern, ONNX Runtime", lambda: _in_onnxruntime(folder / "ours.onnx", np.float64))


def _lightgbm(X, labels, folder):
    def trained():
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, verbose=-1).fit(X, labels)

    def converted():
        from onnxmltools import convert_lightgbm
        from onnxmltools.convert.common.data_types import FloatTensorType

        graph = convert_lightgbm(model.booster_, initial_types=[("X", FloatTensorType([None, X.shape[1]]))],
                                 zipmap=False)
        (folder / "theirs.onnx").write_bytes(graph.SerializeToString())
        return _in_onnxruntime(folder / "theirs.onnx", np.float32)

    def by_treelite():
        import tl2cgen
        import treelite

        library = folder / "theirs.so"
        tl2cgen.export_lib(treelite.frontend.from_lightgbm(model.booster_), toolchain="gcc", libpath=str(library))
        predictor = tl2cgen.Predictor(str(library), nthread=1)
        return lambda rows: predictor.predict(tl2cgen.DMatrix(rows))

    def by_m2cgen():
        import m2cgen

        (folder / "theirs.c").write_text(m2cgen.export_to_c(model))
        return _compiled(folder, "theirs.c", "score", "double", X.shape[1])

    try:
        model = trained()
    except ImportError as error:
        print(f"left out: LightGBM ({error})", file=sys.stderr)
        return {}
    found = {"LightGBM": partial(model.booster_.predict, num_threads=1)}
    for name, make in (("LightGBM, ONNX Runtime", converted), ("LightGBM, tl2cgen", by_treelite),
                       ("LightGBM, m2cgen", by_m2cgen)):
        found |= _tried(name, make)
    return found


def _tried(name, make):
    """{name: what is made}; nothing where that fails, whatever another package raises."""
    try:
        return {name: make()}
    except Exception as error:
        print(f"left out: {name} ({type(error).__name__}: {str(error)[:200]})", file=sys.stderr)
        return {}


def _in_onnxruntime(path, dtype):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    return lambda rows: session.run(["probabilities"], {"X": rows.astype(dtype, copy=False)})[0]


def _compiled(folder, name, function, kind, n_columns, loop=LOOP, flags=("-O2",)):
    """The function of a C file as one of many rows."""
    source, library = folder / f"many_{name}", folder / f"{name}{''.join(flags)}.so"
    source.write_text(loop.format(name=name, function=function, kind=kind, d=n_columns))
    subprocess.run(["cc", *flags, "-shared", "-fPIC", source, "-lm", "-o", library], check=True)
    many = ctypes.CDLL(str(library)).many
    many.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p]

    def probabilities(rows):
        out = np.empty((len(rows), 2))
        many(rows.ctypes.data, len(rows), out.ctypes.data)
        return out

    return probabilities
