"""The package under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer of GCC, built into a cache.

A first build takes some four minutes of CPU; pip, meson-python, Cython and ninja must be there.  Before the first case
counts, the sanitizer must report the faults of planted.c and nothing else, and the fault of a kernel of the package
that is compiled again with a line changed.  ThreadSanitizer understands the threads of team.c, but not GNU OpenMP.
"""

import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

from rffkern._native.simd import LEVELS

HERE = pathlib.Path(__file__).parent
SOURCES = HERE.parents[1]
CALLS_PER_CASE = 12  # fits, each with its scores and files
SECONDS = 600
FOUND = 66  # exit code where a sanitizer has found something
CHECKS = {"address": "address,undefined", "thread": "thread"}
PLANTED = {"address": ["out_of_bounds", "used_after_free", "overflow"], "thread": ["race"]}
KERNEL, MODULE = "fourier/phase.pyx", "gbrff"  # a source, and what includes it
KERNEL_FAULTS = {  # what is replaced in the kernel: a loop one tile too long; sums of all threads in one place
    "address": ("strip_stop(strip, n_tiles)", "strip_stop(strip, n_tiles) + 1"),
    "thread": ("&partial[strip, 0]", "&partial[0, 0]"),
}
FIT = """
import numpy as np, rffkern
from rffkern._rows import threads
threads.ELEMENTS_PER_THREAD, threads.machine_cpus = 16, lambda: 4
X = np.random.default_rng(0).standard_normal((10_000, 3))
rffkern.GBRFF2Classifier(2, max_iter=2, max_samples=None, n_jobs=3, random_state=0).fit(X, X[:, 0] > 0)
"""
OPTIONS = {
    "ASAN_OPTIONS": f"detect_leaks=0:halt_on_error=1:exitcode={FOUND}:allocator_may_return_null=1",
    "UBSAN_OPTIONS": f"halt_on_error=1:print_stacktrace=1:exitcode={FOUND}",
    "TSAN_OPTIONS": f"halt_on_error=1:exitcode={FOUND}",
}


def cache():
    """Where builds are kept: a folder of the user's cache, or what RFFKERN_SANITIZED names."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("RFFKERN_SANITIZED") or pathlib.Path(base, "rffkern-sanitized"))


def _digest(*parts):
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _sources():
    """A digest of the files that a build depends on."""
    digest = hashlib.sha256()
    for path in sorted([*SOURCES.glob("meson*"), SOURCES / "pyproject.toml", *SOURCES.glob("rffkern/**/*")]):
        if path.is_file() and path.suffix not in (".pyc", ".so"):
            digest.update(path.relative_to(SOURCES).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def _gcc(*arguments):
    return subprocess.run(["gcc", *map(str, arguments)], check=True, capture_output=True, text=True).stdout.strip()


@functools.cache
def helpers(kind):
    """Compile what stands beside the package, and return the folder."""
    folder = cache() / f"{kind}-{_digest([path.read_bytes() for path in sorted(HERE.glob('*.c'))])}"
    folder.mkdir(parents=True, exist_ok=True)
    threads, objects = SOURCES / "rffkern" / "_native" / "threads", []
    for source in (HERE / "planted.c", threads / "team.c", threads / "gomp.c"):
        objects.append(folder / f"{source.stem}.o")
        _gcc("-O1", "-g", "-fPIC", "-fopenmp", "-DRFF_OWN_TEAM", f"-I{threads}", f"-fsanitize={CHECKS[kind]}", "-c",
             source, "-o", objects[-1])
    _gcc("-shared", "-pthread", f"-fsanitize={CHECKS[kind]}", "-o", folder / "planted.so", *objects)
    return folder


@functools.cache
def build(kind):
    """The folder of the package with a sanitizer; what is not there yet or has changed is built."""
    folder = cache() / f"{kind}-{_digest(sys.version, str(SOURCES))}"
    whole, sources = folder / "whole", _sources()
    if not whole.exists() or whole.read_text(encoding="ascii") != sources:
        print(f"building the package with -fsanitize={CHECKS[kind]} in {folder}", flush=True)
        settings = {"buildtype": "custom", "optimization": 1, "debug": "true", "b_sanitize": CHECKS[kind],
                    "b_lundef": "false", "baseline_only": str(kind == "thread").lower(), "openmp": "own"}
        folder.mkdir(parents=True, exist_ok=True)
        whole.unlink(missing_ok=True)
        with open(folder / "log", "w", encoding="utf-8") as log:
            subprocess.run([sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--upgrade",
                            "--target", folder / "site", f"-Cbuild-dir={folder / 'build'}",
                            *(f"-Csetup-args=-D{name}={value}" for name, value in settings.items()), SOURCES],
                           check=True, stdout=log, stderr=subprocess.STDOUT)
        whole.write_text(sources, encoding="ascii")
    return folder / "site"


@functools.cache
def faulty(kind):
    """The folder of the package with a sanitizer, and with a fault in one of its kernels."""
    site, old_new = build(kind), KERNEL_FAULTS[kind]
    folder = site.parent / "faulty"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(site / "rffkern", folder / "rffkern")
    sources = folder / "sources" / "rffkern" / "_native"
    shutil.copytree(SOURCES / "rffkern" / "_native", sources)
    (sources.parent / "__init__.py").touch()
    text = (sources / KERNEL).read_text(encoding="utf-8")  # which the source of the module includes
    if old_new[0] not in text:
        raise ValueError(f"{KERNEL} has no {old_new[0]!r} to plant a fault in")
    (sources / KERNEL).write_text(text.replace(*old_new), encoding="utf-8")
    module = next((folder / "rffkern" / "_native").glob(f"{MODULE}.*.so")).name
    commands = subprocess.run(["ninja", "-C", site.parent / "build", "-t", "commands", f"rffkern/_native/{module}"],
                              check=True, capture_output=True, text=True).stdout
    pieces = folder / f"{MODULE}.p"
    pieces.mkdir()
    made, whole = rf"rffkern/_native/{re.escape(module)}", folder / "rffkern" / "_native" / module
    changes = {rf"\S*/{MODULE}\.pyx(?=\s)": "SOURCE", rf"{made}\.p": pieces, made: whole,
               "SOURCE": sources / f"{MODULE}.pyx"}
    for old, new in changes.items():
        commands = re.sub(old, str(new), commands)
    subprocess.run(["sh", "-ec", commands], cwd=site.parent / "build", check=True, capture_output=True)
    return folder


def run(kind, arguments, folder, level=LEVELS[0], site=None):
    """Run Python under a sanitizer: what was wrong, or None."""
    names = ["libasan.so", "libubsan.so"] if kind == "address" else ["libtsan.so"]
    preloaded = [str(pathlib.Path(_gcc(f"-print-file-name={name}")).resolve()) for name in names]
    paths = [site] * (site is not None) + [HERE.parent]
    environment = os.environ | OPTIONS | {
        "LD_PRELOAD": " ".join(preloaded), "PYTHONMALLOC": "malloc", "PYTHONPATH": ":".join(map(str, paths)),
        "RFFKERN_SIMD": level, "OPENBLAS_NUM_THREADS": "1", "RFFKERN_EXAMPLES": "5", "RFFKERN_DAMAGED": "100"}
    command = [sys.executable, "-P", *map(str, arguments)]
    try:
        done = subprocess.run(command, cwd=SOURCES, env=environment, timeout=SECONDS, capture_output=True, text=True,
                              check=False)
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} s"
    return None if done.returncode == 0 else report(done)


def report(done):
    """The lines that tell what a process died of."""
    text = done.stderr + done.stdout
    found = re.search(r"(ERROR: AddressSanitizer|runtime error|WARNING: ThreadSanitizer).*(\n.*){0,40}", text)
    return f"exit code {done.returncode}: {found.group() if found else text[-2000:]}"


@functools.cache
def trusted(kind):
    """What is wrong with the sanitizer itself: a planted fault that it does not find, or one that is not there."""
    call = f"import ctypes, sys; sys.exit(ctypes.CDLL({str(helpers(kind) / 'planted.so')!r}).NAME(64))"
    for name in PLANTED[kind]:
        wrong = run(kind, ["-c", call.replace("NAME", name)], HERE)
        if wrong is None or f"exit code {FOUND}" not in wrong:
            return f"the planted fault {name!r} was not found: {wrong}"
    wrong = run(kind, ["-c", call.replace("NAME", "partial_sums")], HERE)
    return f"a fault was found that is not there: {wrong}" if wrong else None


@functools.cache
def finds_kernel_fault(kind):
    """What is wrong where a fit does not die of the kernel's fault, or dies without it."""
    wrong = run(kind, ["-c", FIT], HERE, site=build(kind))
    if wrong:
        return f"a fit without the planted fault: {wrong}"
    wrong = run(kind, ["-c", FIT], HERE, site=faulty(kind))
    if wrong is None or f"exit code {FOUND}" not in wrong:
        return f"the planted fault of the kernel was not found: {wrong}"
    return None


def _case(kind, arguments, folder, level=LEVELS[0]):
    return trusted(kind) or finds_kernel_fault(kind) or run(kind, arguments, folder, level, build(kind))


def sanitized_calls(rng, folder, level=LEVELS[0]):
    """Fits of random families with their scores, model files and damaged model files."""
    return _case("address", ["-m", "soaking.sanitized", "calls", rng.integers(1 << 30), CALLS_PER_CASE], folder, level)


def sanitized_kernels(rng, folder, level=LEVELS[0]):
    """One file of the tests of kernels: arrays one element too short, edges of tiles, extreme numbers."""
    file = str(rng.choice(sorted(SOURCES.glob("tests/_native/test_*.py"))))
    return _case("address", ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--all", file],
                 folder, level)


def sanitized_threads(rng, folder):
    """Fits on several threads, and scores of a model by several callers while it is fitted again."""
    return _case("thread", ["-m", "soaking.sanitized", "threads", rng.integers(1 << 30)], folder)


def kind_of(job):
    return "thread" if job == "sanitized_threads" else "address"


JOBS = {"sanitized_threads": (sanitized_threads, 2, "models", 1)}
for _level in LEVELS:
    JOBS[f"calls_{_level}"] = functools.partial(sanitized_calls, level=_level), 1, "fits", CALLS_PER_CASE
    JOBS[f"kernels_{_level}"] = functools.partial(sanitized_kernels, level=_level), 1, "test files", 1
