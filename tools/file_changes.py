"""Count how often control goes from one file of the package to another while a model is trained for two rounds.

    python tools/file_changes.py                       a table of all cases
    python tools/file_changes.py --trace "RFFNet"      the files and functions of one case, in the order of their calls

A change is a call of a Python function that is in another file than the function called before it.  The count shows how
many files a reader must follow; calls of compiled functions are not counted.  Only public names are used, so that the
tool runs on any commit of the package: give it a Python that has that commit installed.
"""

import argparse
import itertools
import os
import sys
from typing import NamedTuple

import numpy as np

import rffkern

PACKAGE = os.path.dirname(rffkern.__file__) + os.sep
GIVEN = {"kernel": {"length_scale": 1.0}, "reg_lambda": 0.1}
CASES = {  # two rounds, epochs or landmarks
    "GBRFF2": ("GBRFF2Classifier", {"n_estimators": 2}),
    "GBRFF1": ("GBRFF1Classifier", {"n_estimators": 2}),
    "GBRFF": ("GBRFFClassifier", {"n_estimators": 2}),
    "GBRFF regression": ("GBRFFRegressor", {"n_estimators": 2}),
    "PBRFF": ("PBRFFClassifier", {"n_landmarks": 2}),
    "RFFNet": ("RFFNetClassifier", {"max_epochs": 2}),
    "RFFNet, one restart": ("RFFNetClassifier", {"max_epochs": 2, "n_restarts": 1}),
    "RFFNet regression": ("RFFNetRegressor", {"max_epochs": 2}),
    "kernel ridge": ("KernelRidgeClassifier", {}),
    "kernel ridge, regression": ("KernelRidgeRegressor", {}),
    "sparse, kernel given": ("SparseKernelClassifier", {"n_estimators": 2, **GIVEN}),
    "sparse, kernel learned": ("SparseKernelClassifier", {"n_estimators": 2}),
    "sparse regression, kernel given": ("SparseKernelRegressor", {"n_estimators": 2, **GIVEN}),
    "sparse regression, kernel learned": ("SparseKernelRegressor", {"n_estimators": 2}),
}


class Call(NamedTuple):
    """A call of a function of the package."""

    file: str
    function: str


def traced(function):
    """The calls of functions of the package while another function runs."""
    calls = []

    def watch(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE):
            calls.append(Call(path[len(PACKAGE):], frame.f_code.co_name))

    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def calls_of_fit(case):
    """The calls of one fit on 200 rows, after another that loads what is loaded late."""
    class_name, params = CASES[case]
    X = np.random.default_rng(0).standard_normal((200, 3))
    y = X[:, 0] * X[:, 1] > 0
    make = getattr(rffkern, class_name)
    make(random_state=0, **params).fit(X, y)
    model = make(random_state=0, **params)
    return traced(lambda: model.fit(X, y))


def n_changes(calls):
    return sum(one.file != other.file for one, other in itertools.pairwise(calls))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", metavar="CASE", choices=list(CASES), help=f"one of: {', '.join(CASES)}")
    arguments = parser.parse_args()
    if arguments.trace:
        for file, calls in itertools.groupby(calls_of_fit(arguments.trace), key=lambda call: call.file):
            print(f"{file}: " + ", ".join(call.function for call in calls))
        return
    print(f"{'case':<36}{'changes':>8}{'files':>7}{'calls':>7}")
    for case in CASES:
        try:
            calls = calls_of_fit(case)
        except Exception as error:  # so that an unfinished tree gets a table too
            print(f"{case:<36}  not trained: {type(error).__name__}: {error}")
            continue
        print(f"{case:<36}{n_changes(calls):>8}{len({call.file for call in calls}):>7}{len(calls):>7}", flush=True)


if __name__ == "__main__":
    main()
