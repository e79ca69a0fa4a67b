"""Time of training PBRFF, against a twin in NumPy and scikit-learn."""

from functools import partial

from common.measure import cpu_seconds, result

from pbrff.twin import PosteriorTwin


def train_features(X, y, repetitions):
    """Seconds of whole fits, and of scikit-learn's linear machine on ready features."""
    from sklearn.svm import LinearSVC

    from rffkern import PBRFFClassifier

    common = {"standardize": False, "gamma": 1 / X.shape[1], "n_threads": 1, "random_state": 0}
    features = PosteriorTwin().features(X, y)
    return result("PBRFF, 100 landmarks, K = 10", len(y), cpu_seconds({
        "rffkern": partial(PBRFFClassifier(**common).fit, X, y),
        "rffkern hinge": partial(PBRFFClassifier(loss="hinge", **common).fit, X, y),
        "twin": partial(PosteriorTwin().fit, X, y),
        "LinearSVC alone": partial(LinearSVC().fit, features, y)}, repetitions))
