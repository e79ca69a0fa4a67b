"""The reader in C as a process that judges files, and what it cannot judge: ranges of parameters of training."""

import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

import rffkern
from soaking import files

DRIVER = pathlib.Path(__file__).with_suffix(".c")
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ACCEPTED, UNSUPPORTED = 0, 9

# Parameters that the reader in C looks at, as arrays depend on them; `columns` of all families.
READ = {"gbrff": ("n_components",), "gbrff1": ("n_components",), "gbrff_regressor": ("n_components",),
        "pbrff": ("n_components", "n_landmarks"), "pbrff_transformer": ("n_components", "n_landmarks"),
        "sparse_kernel": ("n_estimators", "learner_size", "loss"),
        "sparse_kernel_regressor": ("n_estimators", "learner_size"),
        "fourier_boosting_regressor": ("loss", "quantile")}


def compiler():
    """The C compiler of the system, or None."""
    return os.environ.get("CC") or shutil.which("cc")


def build(folder, options=(), source=DRIVER):
    """The path of a program that is compiled from a file; CalledProcessError with what the compiler says."""
    program = pathlib.Path(folder) / source.stem
    include = pathlib.Path(rffkern.get_include())
    scores = "rff_scorer.h" not in (include / "rffscore.c").read_text() or (include / "rff_scorer.h").exists()
    command = [*compiler().split(), "-std=c99", *options, *([] if scores else ["-DRFF_READER_ONLY"])]
    subprocess.run([*command, "-I", include, source, "-o", program, "-lm"], check=True)
    return program


class CReader:
    """The reader in C, which is asked about one file after the other."""

    def __init__(self, program):
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)

    def __enter__(self):
        return self

    @property
    def pid(self):
        """The number of the process."""
        return self._process.pid

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def verdict(self, content):
        """The code of the error, and why; RuntimeError if the process has ended, as sanitizers end it."""
        try:
            self._process.stdin.write(struct.pack("<Q", len(content)) + content)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self._process.stdout.readline().decode()
        if not answer:
            self._errors.seek(0)
            raise RuntimeError(f"the reader in C ended: {self._errors.read().decode()[-4000:]}")
        code, _, why = answer.strip().partition(" ")
        return int(code), why

    def accepts(self, content):
        """Whether a file is a sound model, also if C does not score it."""
        return self.verdict(content)[0] in (ACCEPTED, UNSUPPORTED)


def repaired(content, original):
    """A file with the parameters of training of the one that it was made from, but for those that C looks at."""
    members = files._members(content)
    header, before = (json.loads(data[data.index(b"\n") + 1 :])
                      for (_, data), *_ in (members, files._members(original)))
    params, trained = header["params"], before["params"]
    if isinstance(params, dict) and isinstance(trained, dict):
        read = {name: params[name] for name in READ.get(header["family"], ()) if name in params}
        if "columns" in params:
            is_map = isinstance(params["columns"], dict) and trained["columns"] is not None
            read["columns"] = trained["columns"] if is_map else params["columns"]
        header["params"] = {**trained, **read}
    if isinstance(header.get("columns"), dict) and isinstance(before.get("columns"), dict):
        header["columns"] = {**header["columns"], "params": before["columns"]["params"]}
    return files._with_header(members, json.dumps(header).encode())


def digest(content):
    """A short name for the bytes of a file."""
    return hashlib.sha256(content).hexdigest()[:16]
