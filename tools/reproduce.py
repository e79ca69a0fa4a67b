"""Rebuild the tables and figures of the papers from the data sets in a folder.

    python tools/reproduce.py ecml --data DIR --seeds 1-5                  Table 2 of the ECML paper, by its protocol
    python tools/reproduce.py ecml --data DIR --model gbrff1               also gbrff2 (the default) and pbrff
    python tools/reproduce.py ecml --data DIR --seeds 1-5 --untuned        the same splits, default parameters
    python tools/reproduce.py few --data DIR --plot few.png                its Figure 2: accuracy with few landmarks
    python tools/reproduce.py squares --data DIR --seeds 1-5               Table 2 and Figure 2 of the 2019 paper
    python tools/reproduce.py kin40k --data DIR                            Figure 2, Tables IV and V of Sun and Yao
    python tools/reproduce.py kin40k --data DIR --kernel likelihood        the same, the kernel chosen as in the paper
    python tools/reproduce.py covtype --data DIR --budget 600              classification by groups of learners
    python tools/reproduce.py se --seeds 1-3                               Figures 2 and 3, Table 2 of the RFFNet paper
    python tools/reproduce.py rffnet --data DIR                            its Tables 1 and 2 on real data

Splits are drawn as the authors drew theirs, from NumPy's global generator; --splits seeded draws others.  Parameters
are chosen by five-fold cross-validation on the training rows, for each number of landmarks.  The experiments from
kin40k on report CPU seconds and run in one process on one thread; their splits are permutations.

Needs scikit-learn for the splits, xgboost for rffnet, and matplotlib where --plot is given.
"""

import argparse
import os
import sys
import time

import common  # noqa: F401  (one thread, before numpy)
from common.data import numbers_of
from papers import landmarks, rffnet, sparse

TIMED = {**sparse.COMMANDS, **rffnet.COMMANDS}
COMMANDS = {**landmarks.COMMANDS, **TIMED}

# The options that each experiment reads beside --seeds and, but for se, --data; others are refused.
_CURVES = {"splits", "untuned", "sets", "plot", "jobs"}
OPTIONS = {"ecml": _CURVES - {"plot"} | {"model"}, "few": _CURVES, "squares": _CURVES, "kin40k": {"kernel"},
           "covtype": {"budget"}, "se": {"sets", "sizes"}, "rffnet": {"sets"}}
DEFAULTS = {"splits": "authors", "model": "gbrff2", "untuned": False, "kernel": "auto", "budget": 600.0,
            "jobs": os.cpu_count()}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(COMMANDS))
    parser.add_argument("--data", help="folder of NAME.npz files (arrays X and y), which all but se need")
    parser.add_argument("--seeds", type=numbers_of, help="FIRST-LAST, default 1-5, or 1-3 from kin40k on")
    parser.add_argument("--splits", choices=["authors", "seeded"], help="how to draw the splits (default: authors)")
    parser.add_argument("--model", choices=list(landmarks.MODELS), help="for ecml (default: gbrff2)")
    parser.add_argument("--untuned", action="store_true", default=None,
                        help="default parameters instead of cross-validation")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="some of the data sets of the experiment")
    parser.add_argument("--sizes", type=int, nargs="+", help="training rows, for se")
    parser.add_argument("--kernel", choices=["auto", "likelihood"], help="for kin40k (default: auto)")
    parser.add_argument("--budget", type=float, help="approximate CPU seconds of a fit for covtype (default: 600)")
    parser.add_argument("--plot", metavar="FILE", help="draw the curves there")
    parser.add_argument("--jobs", type=int, help="processes (default: as many as there are CPUs)")
    arguments = parser.parse_args()
    for name in ("data", *sorted(set().union(*OPTIONS.values()))):
        read = OPTIONS[arguments.what] | ({"data"} if arguments.what != "se" else set())
        if getattr(arguments, name) is not None and name not in read:
            parser.error(f"{arguments.what} has no use for --{name}; it reads --seeds"
                         + "".join(f", --{each}" for each in sorted(read)))
        if getattr(arguments, name) is None:
            setattr(arguments, name, DEFAULTS.get(name))
    if arguments.what != "se" and not (arguments.data and os.path.isdir(arguments.data)):
        parser.error("--data must name the folder of the data sets")
    arguments.seeds = arguments.seeds or numbers_of("1-3" if arguments.what in TIMED else "1-5")
    return arguments


def main():
    arguments = parse_arguments()
    started = time.perf_counter()
    try:
        COMMANDS[arguments.what](arguments)
    except FileNotFoundError as error:  # also of a process beside this one
        sys.exit(str(error))
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
