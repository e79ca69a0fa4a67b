"""Measure rffkern against twins in NumPy/SciPy, which work as the authors' programs do, and against other libraries.

    python tools/bench.py fit --memory                     training, n = 1702 and 43606, and what memory it takes
    python tools/bench.py fit --sizes 220755 1117558 --only rffkern twin lightgbm
    python tools/bench.py predict                          scoring, many rows and one
    python tools/bench.py kernels                          one evaluation against the speed of memory
    python tools/bench.py landmarks                        GBRFF1, GBRFF and PBRFF against NumPy/SciPy, and LinearSVC
    python tools/bench.py machines --limit 300             linear machines of PBRFF beside libsvm, as rows grow
    python tools/bench.py sparse                           sparse kernel boosting against NumPy on BLAS, and its growth
    python tools/bench.py rffnet --data DIR                RFFNet against PyTorch: an epoch, and time to equal loss
    python tools/bench.py columns                          scoring with maps of numeric columns, many rows and one
    python tools/bench.py growth --plot time.png           time against n (sizes of Figure 4), d and T
    python tools/bench.py threads                          one and two threads
    python tools/bench.py --compare old.json new.json      two files written with --json

All contenders see the same data in one process on one thread, in turn.  Figures are medians of CPU seconds; compare
their ratios to the time of rffkern, in brackets.  "rffkern" searches on all rows in every round, "rffkern subsets" on
subsets of 8192 rows.  The twin runs fewer rounds on large data, and its time is scaled.  Needs scipy and scikit-learn;
torch for rffnet; lightgbm, xgboost and matplotlib where they are asked for.  A contender that is not installed, or
would take longer than --limit, is left out.
"""

import argparse
import json

import common.one_thread  # noqa: F401  (before numpy)
from columns import bench as columns_bench
from common.measure import compare
from gbrff import bench as gbrff_bench
from gbrff.contenders import CONTENDERS
from pbrff import bench as pbrff_bench
from rffnet import bench as rffnet_bench
from sparse_machines import bench as sparse_bench

COMMANDS = {**gbrff_bench.COMMANDS, **pbrff_bench.COMMANDS, **sparse_bench.COMMANDS, **rffnet_bench.COMMANDS,
            **columns_bench.COMMANDS}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="fit", choices=list(COMMANDS),
                        help="peak is a part of `fit --memory`, in a process of its own")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of rows; not for sparse")
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS), help="contenders")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions, of which the median is reported")
    parser.add_argument("--limit", type=float, default=60, help="a contender is left out when its fit would take more "
                        "seconds, or takes them; rffnet repeats the fits of a problem until they have taken so many")
    parser.add_argument("--memory", action="store_true", help="measure the memory of fits as well")
    parser.add_argument("--plot", metavar="FILE", help="draw time against n there")
    parser.add_argument("--data", metavar="DIR", help="folder of NAME.npz files, for rffnet on real data")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="compare two files of figures instead")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.compare:
        compare(*arguments.compare)
        return
    results = COMMANDS[arguments.what](arguments)
    if arguments.json and results:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
