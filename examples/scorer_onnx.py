"""The answer for one row of a CSV file, in ONNX Runtime: prints the outputs of the graph.

    rffkern export MODEL --to onnx -o model.onnx
    python scorer_onnx.py model.onnx 'city,mass' 'Bern,1250'

Columns of categories are inputs of text, all others of numbers; an empty cell is missing.
"""

import csv
import sys

import numpy as np
import onnxruntime

path, names, values = sys.argv[1:]
(columns,), (cells,) = csv.reader([names]), csv.reader([values])
row = dict(zip(columns, cells, strict=True))
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
feed = {}
for given in session.get_inputs():
    cell = row.get(given.name, "")
    feed[given.name] = np.array([[cell]], object) if given.type == "tensor(string)" else np.array(
        [[float(cell) if cell else np.nan]])
for output in session.run(None, feed):
    print(*np.ravel(output).tolist(), sep="\n")
