"""Time of training PBRFF, against a twin in NumPy and scikit-learn."""

import multiprocessing
import resource
from functools import partial

import numpy as np
from common.measure import cpu, cpu_seconds, result, show, show_power

from pbrff.twin import PosteriorTwin


def train_features(X, y, repetitions):
    """Seconds of whole fits, and of scikit-learn's linear machine on ready features."""
    from sklearn.svm import LinearSVC

    from rffkern import PBRFFClassifier

    common = {"standardize": False, "gamma": 1 / X.shape[1], "n_jobs": 1, "random_state": 0}
    features = PosteriorTwin().features(X, y)
    return result("PBRFF, 100 landmarks, K = 10", len(y), cpu_seconds({
        "rffkern": partial(PBRFFClassifier(**common).fit, X, y),
        "rffkern hinge": partial(PBRFFClassifier(loss="hinge", **common).fit, X, y),
        "twin": partial(PosteriorTwin().fit, X, y),
        "LinearSVC alone": partial(LinearSVC().fit, features, y)}, repetitions))


# Numbers of landmarks and C at which libsvm ends, too.
PROBLEMS = [(300, 100.0), (1100, 1.0), (2000, 0.1)]
SIZES = [1000, 2000, 4000, 8000]


def noisy(n_samples):
    """Rows of which a tenth have the wrong label."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, 3))
    return X, (X[:, 1] * X[:, 2] > 0) ^ (rng.random(n_samples) < 0.1)


def landmark_features(X, y, n_landmarks):
    """Features as machines take them: a constant behind them, then zeros up to whole vectors."""
    from rffkern import PBRFFTransformer

    features = PBRFFTransformer(n_landmarks, gamma=1.0, random_state=0, n_jobs=1).fit_transform(X, y)
    padded = np.zeros((len(X), -(-(n_landmarks + 1) // 16) * 16), np.float32)
    padded[:, :n_landmarks], padded[:, n_landmarks] = features, 1
    return padded


def own_machine(features, y, C, loss):
    from rffkern._pbrff import linear_svm

    signs = [np.where(y, 1, -1).astype(np.int8)]
    linear_svm.fit_machines(features, signs, np.full(len(y), C), loss, 1e-4, 1, 1)


def libsvm(features, y, C, loss):
    from sklearn.svm import SVC, LinearSVC

    (SVC(kernel="linear", C=C, cache_size=1000) if loss == "hinge" else LinearSVC(C=C, max_iter=10**6)).fit(features, y)


def limited(function, limit):
    """CPU seconds of a function in a process of its own; None if it takes more than the limit."""
    ends, starts = multiprocessing.Pipe(False)

    def work():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        starts.send(cpu(function)[1])

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    return ends.recv() if ends.poll() else None


def machines(arguments):
    """Time of linear machines against the number of rows, beside libsvm (hinge) and liblinear on the same features."""
    results = []
    for loss, other in (("hinge", "libsvm"), ("squared_hinge", "liblinear")):
        for n_landmarks, C in PROBLEMS:
            curves = {"rffkern": {}, other: {}}
            for n_samples in arguments.sizes or SIZES:
                X, y = noisy(n_samples)
                features = landmark_features(X, y, n_landmarks)
                for (_, curve), fit in zip(curves.items(), (own_machine, libsvm), strict=True):
                    seconds = limited(partial(fit, features, y, C, loss), int(arguments.limit))
                    curve.update({} if seconds is None else {n_samples: seconds})
                results.append(show(result(f"{loss}, {n_landmarks} landmarks, C = {C:g}", n_samples,
                                           {name: curve[n_samples] for name, curve in curves.items()
                                            if n_samples in curve})))
            for name, curve in curves.items():
                if len(curve) > 1:
                    print(f"{name}: ", end="")
                    show_power("n", curve)
    return results


COMMANDS = {"machines": machines}
