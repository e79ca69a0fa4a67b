"""Sparse kernel machines beside kernel machines and trees of other libraries over the data sets of a folder.

    python tools/sparse_machines/compare.py --data DIR --log FILE --seeds 61-65
    python tools/sparse_machines/compare.py --log FILE --table               the table of a log alone

Options and figures are those of `tools/boosting/compare.py`, whose runs, tables and rivals it uses, with other defaults
and two rivals more: "svm" chooses among 9 pairs of gamma and C and has probabilities, and "nystroem" is logistic or
ridge regression on 1,000 features of a Gaussian kernel, gamma and penalty chosen among 9 pairs.
"""

import itertools
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import common.one_thread  # noqa: F401  (before numpy)
from boosting import compare
from boosting.rivals import RIVALS, best_of
from common.protocols import standardised

SETS = ("phoneme,covtype_a,electricity,spambase,ringnorm,eeg_eye_state,pendigits,california,protein,kin8nm,concrete,"
        "power_plant")
FACTORS, PENALTIES, N_COMPONENTS = (0.25, 1.0, 4.0), (1.0, 10.0, 100.0), 1000


def svm(X, y, X_test, is_class, seed, probability=True, **params):
    """SVC, or SVR on targets of mean 0 and variance 1, with the Gaussian kernel on standardised columns."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC, SVR

    X, X_test = standardised(X, X_test)
    if is_class:
        model = SVC(**params)
        if probability:
            model = CalibratedClassifierCV(model, ensemble=False)
            return lambda: model.fit(X, y).predict_proba(X_test)
        model.fit(X, y)
        return lambda: (model.predict(X_test)[:, None] == model.classes_) * 1.0
    center, spread = y.mean(), y.std()
    model = SVR(**params).fit(X, (y - center) / spread)
    return lambda: center + spread * model.predict(X_test)


def chosen_svm(X, y, X_test, is_class, seed):
    """The same with gamma and C by cross-validation on 2,000 rows."""
    grid = [{"gamma": factor / X.shape[1], "C": penalty, "probability": False}
            for factor, penalty in itertools.product(FACTORS, PENALTIES)]
    best = best_of(grid, svm, X, y, is_class, seed)
    return svm(X, y, X_test, is_class, seed, **best | {"probability": True})


def nystroem(X, y, X_test, is_class, seed, gamma, penalty):
    """Linear regression on features of a Gaussian kernel."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline

    X, X_test = standardised(X, X_test)
    linear = LogisticRegression(C=penalty, max_iter=300) if is_class else Ridge(alpha=1 / penalty)
    features = Nystroem(gamma=gamma, n_components=min(N_COMPONENTS, len(y)), random_state=seed)
    model = make_pipeline(features, linear).fit(X, y)
    return lambda: model.predict_proba(X_test) if is_class else model.predict(X_test)


def chosen_nystroem(X, y, X_test, is_class, seed):
    """The same with gamma and the penalty by cross-validation on 2,000 rows."""
    grid = [{"gamma": factor / X.shape[1], "penalty": penalty}
            for factor, penalty in itertools.product(FACTORS, PENALTIES)]
    return nystroem(X, y, X_test, is_class, seed, **best_of(grid, nystroem, X, y, is_class, seed))


def main():
    """Run the comparison of boosting with other rivals and defaults."""
    RIVALS.update({"svm": chosen_svm, "nystroem": chosen_nystroem})
    defaults = {"--models": "sparse,svm,lightgbm,xgboost,nystroem", "--sets": SETS, "--reference": "sparse"}
    for option, value in defaults.items():
        if not any(argument.split("=")[0] == option for argument in sys.argv):
            sys.argv += [option, value]
    compare.main()


if __name__ == "__main__":
    main()
