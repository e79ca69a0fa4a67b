"""`rffkern help TOPIC`: recipes of a few commands."""

import argparse
import difflib
import textwrap

from .._export import TARGETS
from .output import EXIT_CODES, UsageError

OTHER_TARGETS = *(name for name in TARGETS if name not in ("c", "html")),  # than those of lines of their own

# By topic: what it is about, and lines of the shell with remarks.  A test parses each command.
RECIPES = {
    "start": ("from a table to predictions", """\
rffkern fit train.csv -o model.npz --target price            # words: a classifier; numbers: a regressor
rffkern predict model.npz new.csv -o predictions.csv
rffkern info model.npz                                       # what it learned, from which columns
"""),
    "good": ("how good a model is", """\
rffkern fit train.csv -o model.npz --target y --holdout 0.2  # trains on four fifths, reports on the rest
rffkern fit train.csv -o model.npz --target y --cv 5         # reports on all rows, each predicted by another model
rffkern evaluate model.npz labelled.csv --target y           # beside the best constant, with standard errors
rffkern compare train.csv --target y                         # beside other libraries, on the same folds
"""),
    "why": ("why a model predicts what it does", """\
rffkern predict model.npz new.csv -o out.csv --explain 3     # three columns of largest contribution in each row
rffkern report model.npz labelled.csv -o report.html         # importances, dependence, slices, worst rows
"""),
    "what-if": ("what would have to change", """\
rffkern what-if model.npz rows.csv --target yes              # the nearest change with which yes is predicted
rffkern what-if model.npz rows.csv --target yes --probability 0.8 --change tenure,plan --step tenure=1
rffkern what-if model.npz rows.csv --target 300000 --limit rooms=1:6   # numbers are reached from either side
rffkern what-if model.npz rows.csv --target 250000:300000 --json       # between two numbers, as JSON
"""),
    "sure": ("how sure predictions are", """\
rffkern predict model.npz new.csv -o out.csv --proba         # calibrated, but not in GBRFF and PBRFF
rffkern predict model.npz new.csv -o out.csv --interval 0.9  # intervals, or sets of labels, that hold 90 %
rffkern fit train.csv -o model.npz --target y --model fourier_boosting_regressor \\
    --set loss=quantile --set 'quantile=[0.1,0.5,0.9]'       # quantiles that do not cross
"""),
    "time": ("rows in order of time", """\
rffkern fit train.csv -o model.npz --target y --time date --holdout 0.2   # judged by the last fifth
rffkern compare train.csv --target y --time date             # each fold predicted from the rows before it
"""),
    "groups": ("several rows of one patient, customer or device", """\
rffkern fit train.csv -o model.npz --target y --groups patient --holdout 0.2   # groups are held out as a whole
"""),
    "imbalance": ("rare classes and costs", """\
rffkern fit train.csv -o model.npz --target y --set class_weight=balanced
rffkern fit train.csv -o model.npz --target y --weight cost  # a column of weights
rffkern predict model.npz new.csv -o out.csv --proba         # then decide by costs
"""),
    "columns": ("what becomes of columns", """\
rffkern fit train.csv -o model.npz --target y --drop id,comment
rffkern fit train.csv -o model.npz --target y --categorical zip   # numbers that are categories
rffkern fit train.csv -o model.npz --target y --columns search    # compares maps on validation rows
rffkern fit train.csv -o model.npz --target y --dates dmy         # 3/4/2024 is the third of April
"""),
    "known": ("what is known before", """\
rffkern fit train.csv -o model.npz --target y --monotone income=1,distance=-1   # only rises, only falls
rffkern fit train.csv -o model.npz --target y --additive     # a sum of functions of one column: a glass box
"""),
    "drift": ("rows that are no longer like those of training", """\
rffkern predict model.npz new.csv -o out.csv --check drift.json   # new levels, ranges, missing values, shifts
rffkern predict model.npz new.csv -o out.csv --max-shift 0.25     # exit code 3 above it
"""),
    "export": ("models that run without Python", f"""\
rffkern export model.npz --to c -o model.c                   # or {', '.join(OTHER_TARGETS)}
rffkern export model.npz --to html -o page.html              # a page that scores CSV files
rffkern export model.npz --to onnx -o model.onnx --verify new.csv
rffkern verify model.onnx model.onnx.receipt.json
rffkern shrink model.npz held_out.csv -o small.npz --bytes 20k   # fewer terms, for small devices
"""),
    "large": ("many rows, little time", """\
rffkern fit train.parquet -o model.npz --target y --max-seconds 60
rffkern fit train.parquet -o model.npz --target y --checkpoint state   # goes on after an interruption
rffkern fit parts/ -o model.npz --target y --workers 4       # a Dask cluster of four processes
rffkern predict model.npz parts/ -o out.parquet --jobs 4     # block by block, in constant memory
"""),
}


def run(arguments: argparse.Namespace) -> None:
    """Print the recipes of a topic, or the topics."""
    topic = arguments.topic
    code = (topic or "").upper().removeprefix("E")
    if topic is None:
        width = max(map(len, RECIPES))
        print("rffkern help TOPIC shows the commands for one of these:\n")
        for name, (summary, _) in RECIPES.items():
            print(f"  {name:{width}}  {summary}")
        print("\nrffkern COMMAND --help lists all options of a command, rffkern help E65 what to do after an error.")
    elif code.isdecimal() and int(code) in EXIT_CODES:
        meaning, advice = EXIT_CODES[int(code)]
        print(f"exit code {code}: {meaning}")
        if advice:
            print(f"\n{textwrap.fill(advice, 100)}\n\nMore: docs/messages.md#e{code}")
    elif topic in RECIPES:
        summary, commands = RECIPES[topic]
        print(f"{summary[0].upper()}{summary[1:]}:\n\n{commands}", end="")
    else:
        near = difflib.get_close_matches(topic, RECIPES, 1)
        raise UsageError(f"help: no topic {topic!r}{f'; did you mean {near[0]!r}?' if near else ''}; rffkern help "
                         "lists them")
