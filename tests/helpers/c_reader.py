"""The reader in C as a process that judges files."""

import contextlib
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

import rffkern

DRIVER = pathlib.Path(__file__).with_suffix(".c")
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror")
ACCEPTED, UNSUPPORTED = 0, 9


def compiler():
    """The C compiler of the system, or None."""
    return os.environ.get("CC") or shutil.which("cc")


def build(folder, options=(), source=DRIVER):
    """The path of a program that is compiled from a file; CalledProcessError with what the compiler says."""
    program = pathlib.Path(folder) / source.stem
    subprocess.run([*compiler().split(), "-std=c99", *options, "-I", rffkern.get_include(), source, "-o", program,
                    "-lm"], check=True)
    return program


class CReader:
    """The reader in C, which is asked about one file after the other."""

    def __init__(self, program):
        self._program = program
        self._start()

    def _start(self):
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen([self._program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._errors)

    def __enter__(self):
        return self

    @property
    def pid(self):
        """The number of the process."""
        return self._process.pid

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):  # the process has ended by itself
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
            said = self._errors.read().decode()[-4000:]
            self.__exit__()
            self._start()  # for the next file
            raise RuntimeError(f"the reader in C ended: {said}")
        code, _, why = answer.strip().partition(" ")
        return int(code), why

    def accepts(self, content):
        """Whether a file is a sound model, also if C does not score it."""
        return self.verdict(content)[0] in (ACCEPTED, UNSUPPORTED)
