"""The experiments of the landmark papers on GBRFF1, GBRFF2, GBRFF and PBRFF, for `reproduce.py`."""

import numpy as np
from common.tuning import (
    Contender,
    draw_curves,
    gamma_2019,
    gamma_grid,
    mean_curve,
    print_curves,
    print_table,
    tuned,
)
from pbrff.protocols import PBRFF, PBRFF_2019

from gbrff.subsets import subsets


def grid_gbrff2(n_features):
    return [{"gamma": gamma, "reg_lambda": reg_lambda} for gamma in gamma_grid(n_features)
            for reg_lambda in [0.0] + [2.0**k for k in range(-5, -1)]]


def grid_gbrff1(n_features):
    return [{"gamma": gamma, "beta": 10.0**k} for gamma in gamma_grid(n_features) for k in range(-2, 3)]


def grid_gbrff(n_features):
    return [{"gamma": gamma_2019(n_features), "beta": beta, "learning_rate": rate}
            for beta in [0.0] + [2.0**k for k in range(11)] for rate in (1.0, 0.5, 0.1, 0.05, 0.01)]


GBRFF2 = Contender("GBRFF2Classifier", grid_gbrff2)
GBRFF1 = Contender("GBRFF1Classifier", grid_gbrff1)
GBRFF1_EXACT = Contender("GBRFF1Classifier", grid_gbrff1, step="exact", learning_rate=0.5)
GBRFF = Contender("GBRFFClassifier", grid_gbrff, n_components=100)

MODELS = {"gbrff2": GBRFF2, "gbrff1": GBRFF1, "pbrff": PBRFF}


def published(names, **rows):
    """Test accuracy in a paper, mean of 20 splits: {model: {data set: accuracy}}."""
    return {model: dict(zip(names.split(), map(float, row.split()), strict=True)) for model, row in rows.items()}


ECML = published(
    "wine sonar newthyroid heart bupa iono wdbc balance australian pima vehicle german splice spambase occupancy",
    gbrff2="98.5 83.0 96.9 83.1 71.2 89.2 97.3 97.7 86.9 77.1 97.1 74.0 92.4 92.8 98.9",
    gbrff1="98.3 81.8 95.3 83.6 70.3 88.2 96.8 97.7 86.7 76.5 96.3 73.7 83.9 90.7 98.8",
    pbrff="98.1 76.7 96.5 85.4 69.0 94.2 96.5 98.9 84.6 76.1 96.5 72.4 83.5 91.6 98.9")
SQUARES = published(  # glass without its id column, from which the label follows
    "wine sonar glass_noid newthyroid heart bupa iono wdbc balance australian pima german splice spambase",
    gbrff="96.80 76.10 75.70 93.18 82.54 67.58 85.55 96.40 94.77 85.72 75.66 72.36 88.16 92.33",
    pbrff="97.92 75.82 77.27 95.89 83.02 65.48 93.21 95.99 96.12 85.66 75.36 71.79 85.27 91.60")
FEW_SETS = list(ECML["gbrff2"])[:12]
FEW = [1, 2, 3, 5, 10, 15, 20, 25, 50]
FEW_2019 = [1, 3, 5, 10, 25, 200]
ALL_COMPONENTS = [20, 40, 60, 100, 200, 500, 1000]  # numbers of cosines, T K


def ecml(arguments):
    """Table 2 of the ECML paper."""
    paper = ECML[arguments.model]
    print_table(paper, tuned(arguments, MODELS[arguments.model], [100], arguments.sets or list(paper)))


def few(arguments):
    """Figure 2 of the ECML paper."""
    names = arguments.sets or FEW_SETS
    contenders = {"gbrff2": GBRFF2, "gbrff1": GBRFF1, "gbrff1 exact": GBRFF1_EXACT, "pbrff": PBRFF}
    curves = {label: mean_curve(tuned(arguments, contender, FEW, names)) for label, contender in contenders.items()}
    print(f"Mean test accuracy over {len(names)} sets, seeds {arguments.seeds[0]}-{arguments.seeds[-1]}")
    print_curves("landmarks", FEW, curves)
    if arguments.plot:
        draw_curves(arguments.plot, "landmarks", FEW, curves)


def components(arguments):
    """Figure 3 of the ECML paper."""
    names, curves = arguments.sets or FEW_SETS, {}
    for n_components in (1, 5, 10, 20):
        contender = Contender("GBRFF1Classifier", grid_gbrff1, n_components=n_components)
        sizes = [total // n_components for total in ALL_COMPONENTS]
        curves[f"K = {n_components}"] = mean_curve(tuned(arguments, contender, sizes, names))
    print(f"GBRFF1, mean test accuracy over {len(names)} sets, seeds {arguments.seeds[0]}-{arguments.seeds[-1]}")
    print_curves("T K", ALL_COMPONENTS, curves)
    if arguments.plot:
        draw_curves(arguments.plot, "cosines in the model, T K", ALL_COMPONENTS, curves)


def squares(arguments):
    """Table 2 and Figure 2 of the 2019 paper."""
    curves = {}
    for label, contender in (("gbrff", GBRFF), ("pbrff", PBRFF_2019)):
        paper = SQUARES[label]
        found = tuned(arguments, contender, FEW_2019, arguments.sets or list(paper), by_2019=True)
        print(f"{label}, 200 landmarks")
        print_table(paper, found)
        curves[label] = mean_curve(found)
    print_curves("landmarks", FEW_2019, curves | {"difference": np.subtract(*curves.values())})
    if arguments.plot:
        draw_curves(arguments.plot, "landmarks", FEW_2019, curves)


COMMANDS = {"ecml": ecml, "few": few, "components": components, "squares": squares, "subsets": subsets}
