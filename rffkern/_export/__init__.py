"""Trained models as programs of other languages: what a model computes, and a module for each target."""

# The module and function of each target, and its options with their defaults.
TARGETS: dict[str, tuple[str, str, dict[str, str]]] = {
    "c": ("loops", "c_file", {"name": "model"}),
    "js": ("loops", "js_file", {}),
    "html": ("html_file", "html_file", {}),
    "numpy": ("numpy_file", "numpy_file", {}),
    "onnx": ("onnx_file", "onnx_file", {"precision": "double"}),
    "sql": ("sql_file", "sql_file", {"table": "rows", "key": "id"}),
}

PRECISIONS = ("double", "single")
