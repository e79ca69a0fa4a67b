"""PBRFF in plain NumPy, with scikit-learn's linear support vector machine."""

import numpy as np


class PosteriorTwin:
    """Random landmarks, leave-one-out pseudo-posterior, features, then scikit-learn's linear machine."""

    def __init__(self, n_landmarks=100, n_components=10, seed=0):
        self.n_landmarks, self.n_components, self.seed = n_landmarks, n_components, seed

    def features(self, X, y):
        rng = np.random.default_rng(self.seed)
        n_samples, n_features = X.shape
        columns = []
        for index in rng.integers(n_samples, size=self.n_landmarks):
            omegas = rng.normal(0, np.sqrt(2 / n_features), (self.n_components, n_features))
            cosines = np.cos((X[index] - X) @ omegas.T)
            loss = 0.5 - 0.5 * (y[index] * y @ cosines - 1) / (n_samples - 1)
            odds = np.exp(-np.sqrt(n_samples) * (loss - loss.min()))
            columns.append(cosines @ (odds / odds.sum()))
        return np.column_stack(columns)

    def fit(self, X, y):
        from sklearn.svm import LinearSVC

        LinearSVC().fit(self.features(X, y), y)
        return self
