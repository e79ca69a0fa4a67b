"""What `bench.py` measures: rffkern, a NumPy/SciPy twin of the authors' way, and the peers, all on one thread."""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402  (reads the variables set above)

N_ESTIMATORS, N_FEATURES = 100, 20


def make_data(n_samples, n_features=N_FEATURES):
    from sklearn.datasets import make_classification

    X, y = make_classification(n_samples, n_features, n_redundant=min(2, n_features - 2), random_state=0)
    return X, np.where(y > 0, 1.0, -1.0)


class Twin:
    """The authors' way in plain NumPy and SciPy: bounded Brent for the phase, fmin_l_bfgs_b for omega."""

    def __init__(self, n_estimators=N_ESTIMATORS, seed=0):
        self.n_estimators, self.seed = n_estimators, seed

    def fit(self, X, y):
        from scipy.optimize import fmin_l_bfgs_b, fminbound

        rng = np.random.default_rng(self.seed)
        n_samples, n_features = X.shape
        self.intercept = 0.5 * np.log((1 + y.mean()) / (1 - y.mean()))
        H = np.full(n_samples, self.intercept)
        self.omegas, self.phases, self.steps = [], [], []
        for _ in range(self.n_estimators):
            w = np.exp(-y * H)
            r = y * w
            omega = rng.normal(0, np.sqrt(2 / n_features), n_features)
            angle = X @ omega

            def phase_loss(b, r=r, angle=angle):
                return np.exp(-r * np.cos(angle - b)).mean()

            b = fminbound(phase_loss, -np.pi, np.pi, xtol=2e-2 * np.pi)

            def loss_and_gradient(omega, r=r, b=b):
                shifted = X @ omega - b
                loss = np.exp(-r * np.cos(shifted))
                return loss.mean(), (r * np.sin(shifted) * loss) @ X / n_samples

            omega, _, _ = fmin_l_bfgs_b(loss_and_gradient, omega, maxiter=10)
            h = np.cos(X @ omega - b)
            step = 0.5 * np.log(((1 + y * h) * w).sum() / ((1 - y * h) * w).sum())
            H += step * h
            self.omegas.append(omega)
            self.phases.append(b)
            self.steps.append(step)
        return self

    def predict(self, X):
        angle = X @ np.array(self.omegas).T - self.phases
        return self.intercept + np.cos(angle) @ self.steps

    def predict_blocked(self, X):
        """The same by 4096 rows, which keeps the temporaries in cache."""
        return np.concatenate([self.predict(X[i : i + 4096]) for i in range(0, len(X), 4096)])


def rffkern_model(n_estimators=N_ESTIMATORS, **params):
    from rffkern import GBRFF2Classifier

    params = {"gamma": 1 / N_FEATURES, "reg_lambda": 0, "standardize": False, "max_samples": None, "n_threads": 1,
              "random_state": 0} | params
    return GBRFF2Classifier(n_estimators, **params)


def lightgbm_model(n_estimators=N_ESTIMATORS):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=n_estimators, max_depth=5, force_col_wise=True, n_jobs=1, verbose=-1)


def xgboost_model():
    from xgboost import XGBClassifier

    class Labelled(XGBClassifier):
        def fit(self, X, y):
            return super().fit(X, y > 0)

    return Labelled(n_estimators=N_ESTIMATORS, max_depth=5, tree_method="hist", n_jobs=1)


def hist_gradient_boosting():
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=N_ESTIMATORS, max_depth=5, early_stopping=False)


def sampler_and_logistic():
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(RBFSampler(gamma=1 / N_FEATURES, n_components=N_ESTIMATORS, random_state=0),
                         LogisticRegression(max_iter=1000))


def support_vectors():
    from sklearn.svm import SVC

    return SVC(gamma=1 / N_FEATURES)


CONTENDERS = {
    "rffkern": rffkern_model,
    "rffkern double": lambda: rffkern_model(precision="double"),
    "rffkern sampled": lambda: rffkern_model(max_samples=8192),
    "twin": Twin,
    "lightgbm": lightgbm_model,
    "xgboost": xgboost_model,
    "hist boosting": hist_gradient_boosting,
    "rbf + logistic": sampler_and_logistic,
    "svc": support_vectors,
}

# Power of n by which the time of a contender grows, to tell beforehand what would take too long.
GROWTH = {"svc": 2}


def twin_rounds(n_samples):
    """Rounds of the twin to measure on so many rows; its time is then scaled to N_ESTIMATORS."""
    return N_ESTIMATORS if n_samples < 100_000 else 5 if n_samples < 500_000 else 2
