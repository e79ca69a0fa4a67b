"""Measure time and memory of rffkern, beside other libraries where they are installed.

    python tools/bench.py fit --sizes 1702 43606        GBRFF2 beside NumPy/SciPy, LightGBM and others, and its memory
    python tools/bench.py families --log new.jsonl      every class: fit, scores, one row, size of its file
    python tools/bench.py rows --models fourier lightgbm --sizes 6000 200000     models of tools/compare.py as rows grow
    python tools/bench.py cost --log FILE --page FILE   time and memory by rows, columns, classes, threads: docs/cost.md
    python tools/bench.py reach --data DIR              when fits reach the lowest log loss of LightGBM: docs/cost.md
    python tools/bench.py sparse                        fits of sparse rows beside LightGBM and logistic regression
    python tools/bench.py threads                       fits and scores by the number of threads
    python tools/bench.py predict                       scores of many rows, and `rffkern predict` from file to file
    python tools/bench.py explain                       Shapley values of rows, beside those of the trees of LightGBM
    python tools/bench.py drift                         what it costs to compare rows with those of training
    python tools/bench.py exports                       exported models beside LightGBM by ONNX Runtime and others
    python tools/bench.py one-row                       a single row, step by step
    python tools/bench.py start                         a new process that loads a model and scores one row
    python tools/bench.py compare old.jsonl new.jsonl   two files written with --log

All contenders see the same data on one thread, in turn.  Figures are medians of CPU seconds; compare their ratios to
the first, in brackets.  A contender that is not installed, or would take longer than --limit, is left out.
`python tools/bench.py NAME --help` has the options of each; `pip install --group bench` has the other libraries.
"""

import argparse
import json

import common  # noqa: F401  (one thread, before numpy)
from benchmarks import cost, exports, reach, scoring, start, training
from common.measure import compare


def parser_of(commands, name, function, **defaults):
    """A command with the options that it shares with others; `defaults` are of those that it reads."""
    text = function.__doc__
    parser = commands.add_parser(name, help=text.splitlines()[0], description=text)
    parser.set_defaults(function=function)
    if "sizes" in defaults:
        parser.add_argument("--sizes", type=int, nargs="+", default=defaults["sizes"], metavar="ROWS",
                            help="numbers of rows; %(default)s by default")
    if "limit" in defaults:
        parser.add_argument("--limit", type=float, default=defaults["limit"], metavar="SECONDS",
                            help="most seconds of a fit; %(default)s by default")
    parser.add_argument("--repeat", type=int, default=defaults.get("repeat", 5), metavar="N",
                        help="repetitions; %(default)s by default")
    parser.add_argument("--log", metavar="FILE", help="add the figures to a file of JSON lines")
    return parser


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    fit = parser_of(commands, "fit", training.fit, sizes=[1702, 43606], limit=60)
    fit.add_argument("--only", nargs="+", choices=list(training.CONTENDERS), default=list(training.CONTENDERS))
    fit.add_argument("--memory", action="store_true", help="measure the peak of memory too")
    families = parser_of(commands, "families", training.families, sizes=[2000, 20_000], repeat=3)
    families.add_argument("--only", default="", metavar="PREFIX", help="of the names of classes")
    rows = parser_of(commands, "rows", training.rows, sizes=[500, 6000, 30_000, 200_000, 1_000_000], limit=600,
                     repeat=3)
    rows.add_argument("--models", nargs="+", default=["fourier", "fourier-terms", "lightgbm"], metavar="NAME",
                      help="those of tools/compare.py, with parameters or not; %(default)s by default")
    rows.add_argument("--set", metavar="NAME", help="a data set in place of the generated ones")
    rows.add_argument("--data", metavar="DIR", help="folder of NAME.npz files, for --set")
    page = parser_of(commands, "cost", cost.cost, sizes=[], limit=60, repeat=1)
    page.add_argument("--axes", nargs="*", choices=list(cost.AXES), default=list(cost.AXES),
                      help="what grows, or tables of other shapes; none to write the page of what the log has")
    page.add_argument("--models", nargs="+", choices=list(cost.MODELS), metavar="NAME",
                      help=f"of {', '.join(cost.MODELS)}; all by default")
    page.add_argument("--page", metavar="FILE",
                      help="measure what the log lacks, then write the page of it, and a drawing beside it")
    when = parser_of(commands, "reach", reach.reach)
    when.add_argument("--data", metavar="DIR", required=True, help="folder of NAME.npz files")
    when.add_argument("--sets", default="small,large,classes", help="as of tools/compare.py; %(default)s by default")
    when.add_argument("--rows", type=int, default=6000, help="training rows at most; %(default)s by default")
    parser_of(commands, "sparse", training.sparse, repeat=3)
    by_threads = parser_of(commands, "threads", training.threads, sizes=[200_000])
    by_threads.add_argument("--threads", type=int, nargs="+", default=[1, 2], metavar="N",
                            help="%(default)s by default")
    predict = parser_of(commands, "predict", scoring.predict, sizes=[200_000])
    predict.add_argument("--no-files", action="store_true", help="rows in memory alone")
    parser_of(commands, "explain", scoring.explain, sizes=[4000])
    parser_of(commands, "drift", scoring.drift, sizes=[20_000], repeat=15)
    parser_of(commands, "exports", exports.exports, sizes=[1, 1000])
    parser_of(commands, "one-row", scoring.one_row, repeat=9)
    count = parser_of(commands, "start", start.start, repeat=15)
    count.add_argument("--count", action="store_true",
                       help="count instructions by valgrind, of rffkern alone, where the machine is too busy for times")
    two = commands.add_parser("compare", help="Compare two files that --log has written.")
    two.add_argument("old")
    two.add_argument("new")
    two.set_defaults(function=None)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.function is None:
        compare(arguments.old, arguments.new)
        return
    for record in arguments.function(arguments):
        if arguments.log:
            with open(arguments.log, "a", encoding="utf-8") as file:
                print(json.dumps(record), file=file)


if __name__ == "__main__":
    main()
