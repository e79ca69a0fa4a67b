"""PBRFF in the experiments of the landmark papers: the grids its parameters are chosen from."""

from common.tuning import Contender, gamma_2019, gamma_grid


def grid(n_features):
    return [{"gamma": gamma, "beta": 10.0**b, "C": 10.0**c} for gamma in gamma_grid(n_features) for b in range(-2, 3)
            for c in range(-2, 3)]


def grid_2019(n_features):
    return [{"gamma": gamma_2019(n_features), "beta": 10.0**b, "C": 10.0**c} for b in range(-3, 4)
            for c in range(-3, 4)]


PBRFF = Contender("PBRFFClassifier", grid)
PBRFF_2019 = Contender("PBRFFClassifier", grid_2019, n_components=100)
