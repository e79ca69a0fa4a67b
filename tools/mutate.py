"""Change the package in small ways, one at a time, and see whether the tests notice.

    python tools/mutate.py --python 60 --cython 15 --log mutants.jsonl     a sample over the whole package
    python tools/mutate.py --python 40 --only _sparse --only expansion.py  of some folders and files
    python tools/mutate.py --log mutants.jsonl --again                     survivors once more, after tests were added

A mutant is a swapped operator, another constant, a dropped statement, a range that ends one later, and so on.  It is
made in a copy of the installed package, never in the sources.  The tests of its own file run first, then those of its
folder (for a kernel, then those of the families that call it), then their contract, until one fails that passes without
the change.  Tests that take more than three times their usual CPU time count as failed.  The log has one line of JSON
per mutant, and a later call with the same sample goes on where it ended, with more stages if they are asked for.  A
mutant that lives is a missing test, or changes nothing that anyone could see: read the differences that are printed at
the end.
"""

import argparse
import difflib
import functools
import json
import os
import pathlib
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from mutation.mutants import Mutant, mutants_of

from rffkern._kernels.simd import OWN_THREADS

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "rffkern"
MAX_MEMORY = 8 << 30
SHORT = 60  # seconds of CPU time for a stage before it is measured how long its tests take
LONGEST = 1800  # seconds of CPU time for the tests of a stage in the package as it is
IDLE_SECONDS = 300  # of a test that waits for what does not come, beyond ten times the CPU time that it may take
LINKED_WITH_C = {"_kernels/simd.pyx"}  # needs all of vecmath.c, at every level
# Mutants are compiled in half the time without the vectors of -O3.
CYTHON = ["-3", "-Xlanguage_level=3", "-Xboundscheck=False", "-Xinitializedcheck=False", "-Xwraparound=False",
          "-Xcdivision=True", "-Xembedsignature=True", "-Xfreethreading_compatible=True",
          "--shared=rffkern._kernels._shared"]
C = ["-O1", "-std=gnu11", "-fPIC", "-shared", "-fopenmp", "-fvisibility=hidden", "-fno-math-errno",
     "-fno-trapping-math", "-w", "-DVM_HAVE_LEVELS", *(["-DRFF_OWN_TEAM"] if OWN_THREADS else [])]


def limit_resources(cpu_seconds):
    """For a mutant that would ask for all there is, or never end."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds), int(cpu_seconds) + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Run(NamedTuple):
    """What tests said."""

    status: str  # "passed", "failed", "timeout" or "none", where there are no tests
    seconds: float  # of CPU time
    output: str

    @property
    def killer(self):
        """The test that failed."""
        return "".join(re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", self.output, re.MULTILINE)[:1])


@functools.cache
def source(name):
    """A source as it was when the tool began, also if it is edited meanwhile."""
    return (SOURCES / name).read_bytes()


def source_files(only):
    for path in sorted(SOURCES.rglob("*.py*")):
        name = path.relative_to(SOURCES).as_posix()
        if (path.suffix in (".py", ".pyx") and path.name != "__init__.py" and name not in LINKED_WITH_C
                and (not only or any(name == part or name.startswith(part.rstrip("/") + "/") for part in only))):
            yield name


def sample(suffix, count, seed, only):
    """Mutants of the files of one language, drawn with a seed."""
    every = [mutant for name in source_files(only) if name.endswith(suffix)
             for mutant in mutants_of(name, source(name))]
    return random.Random(seed).sample(every, min(count, len(every))), len(every)


WINGS = ("_gbrff", "_pbrff", "_rffnet", "_sparse")
TOP_TESTS = ["tests/test_expansion.py", "tests/test_kernel_expansion.py", "tests/test_serialize.py"]


def module_of(name):
    """The compiled module that a typed source is part of: what includes it, or its own."""
    path = pathlib.PurePosixPath(name)
    including = [other.stem for other in (SOURCES / path.parent).glob("*.pyx")
                 if f'include "{path.name}"' in other.read_text(encoding="utf-8")]
    return including[0] if including else path.stem


def wings(path):
    """The families to whose folders a file belongs, or that call a kernel."""
    calls = None
    if path.suffix == ".pyx":
        names = re.findall(r"^(?:def|cdef class) (\w+)", (SOURCES / path).read_text(encoding="utf-8"), re.MULTILINE)
        module = module_of(path)
        calls = re.compile(rf"(?:\b{module}\.|_kernels\.{module} import .*)\b(?:{'|'.join(names)})\b")
    for wing in WINGS:
        if path.parent.name == wing or (calls and any(
                calls.search(caller.read_text(encoding="utf-8")) for caller in (SOURCES / wing).glob("*.py"))):
            yield wing


def stages(name):
    """Tests of a file from near to far, as arguments of pytest: its own, its folder, its families, their contract."""
    path = pathlib.PurePosixPath(name)
    families = list(wings(path))
    folders = list(dict.fromkeys([str(path.parent), *families]))
    found = [[f"tests/{folder}/test_{path.stem}.py" for folder in folders],
             [f"tests/{path.parent}"] if path.parent.name else TOP_TESTS,
             [f"tests/{folder}" for folder in folders[1:]] + TOP_TESTS * (path.suffix == ".pyx"), ["tests/contract"]]
    found = [[str(pathlib.PurePosixPath(test)) for test in tests if (ROOT / test).exists()] for tests in found]
    for number, tests in enumerate(tests for tests in found if tests):
        options = [f"--ignore={own}" for own in found[0] if number and own not in tests]
        if tests == ["tests/contract"]:  # whose tests have the names of families
            options = ["-k", " or ".join(wing.strip("_") for wing in families)] if families else []
        yield tests + options


class Workshop:
    """A copy of the installed package that mutants are made in, one at a time."""

    def __init__(self, folder, installed):
        self.folder = folder
        self.package = folder / "rffkern"
        shutil.copytree(installed, self.package)

    def make(self, name, content):
        """Put a source into the copy; False where it does not compile."""
        target = self.package / name
        if not name.endswith(".pyx"):
            target.write_bytes(content)
            return True
        work = self.folder / "kernels" / "rffkern" / "_kernels"  # where Cython finds the package's other .pxd
        shutil.rmtree(self.folder / "kernels", ignore_errors=True)
        shutil.copytree(SOURCES / "_kernels", work)
        (work.parent / "__init__.py").touch()
        (work / target.name).write_bytes(content)
        stem = module_of(name)
        module = self.package / "_kernels" / (stem + sysconfig.get_config_var("EXT_SUFFIX"))
        include = sysconfig.get_paths()["include"]
        commands = ([sys.executable, "-P", "-m", "cython", *CYTHON, f"rffkern/_kernels/{stem}.pyx"],
                    [os.environ.get("CC", "cc"), *C, f"-I{include}", f"-I{work}", str(work / f"{stem}.c"),
                     *([str(work / "gomp.c")] if OWN_THREADS else []), "-o", str(module), "-lm"])
        return all(subprocess.run(command, cwd=self.folder / "kernels", capture_output=True, check=False)
                   .returncode == 0 for command in commands)

    def restore(self, name, installed):
        if name.endswith(".pyx"):
            module = pathlib.Path("_kernels", module_of(name) + sysconfig.get_config_var("EXT_SUFFIX"))
            shutil.copy2(installed / module, self.package / module)
        else:
            shutil.copy2(installed / name, self.package / name)

    def test(self, tests, limit=None):
        """Run tests for some CPU time; without a limit, also keep the compiled tests."""
        # No plugins, whose loading takes longer than most files of tests.
        environment = {"RFFKERN_EXAMPLES": "10", "RFFKERN_DAMAGED": "200", **os.environ,
                       "PYTHONDONTWRITEBYTECODE": "1" if limit else "", "PYTHONPATH": str(self.folder),
                       "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        # -P: the sources in the working directory have no compiled modules.
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-x", "--all", "-p", "no:cacheprovider", *tests]
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True,
                                       preexec_fn=functools.partial(limit_resources, limit or LONGEST))
            timer = threading.Timer(10 * (limit or LONGEST) + IDLE_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = code = os.waitstatus_to_exitcode(status)  # so that it is not waited for again
            output.seek(0)
            text = output.read().decode(errors="replace")
        late = code in (-signal.SIGXCPU, -signal.SIGKILL)
        status = "timeout" if late else {0: "passed", 5: "none"}.get(code, "failed")
        return Run(status, usage.ru_utime + usage.ru_stime, text)


class Unchanged:
    """What the tests say of the package as it is."""

    def __init__(self, workshop):
        self._workshop, self._found, self._lock = workshop, {}, threading.Lock()
        self._compiled = set()

    def compile(self, name):
        """Compile a kernel as its mutants are, so that they differ in the change alone."""
        with self._lock:
            if name.endswith(".pyx") and name not in self._compiled:
                self._compiled.add(name)
                if not self._workshop.make(name, source(name)):
                    raise SystemExit(f"{name} does not compile without any change")

    def test(self, tests):
        """What tests say, which is remembered; an error if they fail."""
        with self._lock:
            if tuple(tests) not in self._found:
                found = self._workshop.test(tests)
                if found.status not in ("passed", "none"):
                    raise SystemExit(f"{' '.join(tests)} {found.status} without any change:\n{found.output[-3000:]}")
                self._found[tuple(tests)] = found
            return self._found[tuple(tests)]

    def limit(self, tests):
        """The CPU time after which tests are taken not to end."""
        return 3 * self.test(tests).seconds + 20


def run_stage(tests, workshop, unchanged):
    """What the tests of a stage say of a mutant; what kills it passes without it."""
    found = workshop.test(tests, SHORT)
    if found.status == "timeout" and unchanged.limit(tests) > SHORT:
        found = workshop.test(tests, unchanged.limit(tests))
    if found.status == "failed":
        unchanged.test([found.killer.split("[")[0]] if found.killer else tests)
    return found


def judge(mutant, workshop, unchanged, installed, plan):
    """Whether the tests of some stages notice a mutant: the status, what killed it, and the CPU time it took."""
    status, killer, seconds = "survived", "", 0.0
    try:
        unchanged.compile(mutant.file)
        if not workshop.make(mutant.file, mutant.applied(source(mutant.file))):
            return "invalid", "", 0.0
        for number, tests in plan:
            found = run_stage(tests, workshop, unchanged)
            seconds += found.seconds
            if found.status in ("failed", "timeout"):
                reason = "time limit" if found.status == "timeout" else found.killer or "end of the process"
                status, killer = "killed", f"{number}: {reason}"
                break
    finally:
        workshop.restore(mutant.file, installed)
    return status, killer, seconds


def difference(mutant):
    content = source(mutant.file)
    lines = [text.decode().splitlines(keepends=True) for text in (content, mutant.applied(content))]
    return "".join(difflib.unified_diff(*lines, mutant.file, mutant.file, n=1))


def read_log(path):
    if path is None or not path.exists():
        return {}
    entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {tuple(entry["mutant"]): entry for entry in entries}  # the last line about a mutant counts


def judge_all(mutants, arguments, log):
    """Judge what the log does not have yet; each result is written at once."""
    installed = pathlib.Path(sysconfig.get_paths()["platlib"], "rffkern")
    lock, workshops = threading.Lock(), queue.SimpleQueue()
    first = {m: log[m].get("stages", 0) * (not arguments.again) if m in log else 0 for m in mutants}
    waiting = [m for m in mutants if m not in log or (log[m]["status"] == "survived" and first[m] < arguments.stages)]
    given = [("given", arguments.tests.split())] if arguments.tests else None
    with tempfile.TemporaryDirectory() as folder:
        unchanged = Unchanged(Workshop(pathlib.Path(folder, "unchanged"), installed))
        for number in range(arguments.jobs):
            workshops.put(Workshop(pathlib.Path(folder, str(number)), installed))

        def work(mutant):
            workshop = workshops.get()
            try:
                plan = given or list(enumerate(stages(mutant.file)))[first[mutant] : arguments.stages]
                status, killer, seconds = judge(mutant, workshop, unchanged, installed, plan)
            finally:
                workshops.put(workshop)
            entry = {"mutant": list(mutant), "status": status, "killer": killer, "seconds": round(seconds, 1),
                     "stages": arguments.stages}
            with lock:
                log[mutant] = entry
                if arguments.log:
                    with arguments.log.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(entry) + "\n")
                print(f"{status:<9}{seconds:6.1f} s  {mutant.file}  {killer}", flush=True)

        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(work, waiting))


def show(mutants, log):
    for suffix in (".py", ".pyx"):
        found = [log[m]["status"] for m in mutants if m.file.endswith(suffix)]
        judged = len(found) - found.count("invalid")
        if judged:
            killed = found.count("killed")
            print(f"{suffix}: {killed} of {judged} killed, {100 * killed / judged:.1f} %; "
                  f"{found.count('invalid')} did not compile")
    survivors = [m for m in mutants if log[m]["status"] == "survived"]
    for mutant in survivors:
        print(difference(mutant))
    return len(survivors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=int, default=0, metavar="N", help="number of mutants of Python sources")
    parser.add_argument("--cython", type=int, default=0, metavar="N", help="number of mutants of Cython sources")
    parser.add_argument("--only", action="append", metavar="PATH", help="a folder or file of the package; repeatable")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--stages", type=int, default=4, help="1: tests of the file, 2: of its folder too, ...")
    parser.add_argument("--tests", metavar="ARGUMENTS", help="of pytest, in place of the stages")
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("--again", action="store_true", help="judge survivors of the log once more")
    parser.add_argument("--list", action="store_true", help="print the sample as differences, and stop")
    arguments = parser.parse_args()
    log = {Mutant(*key): entry for key, entry in read_log(arguments.log).items()}
    mutants = []
    for suffix, count in ((".py", arguments.python), (".pyx", arguments.cython)):
        drawn, n_sites = sample(suffix, count, arguments.seed, arguments.only)
        mutants += drawn
        print(f"{suffix}: {len(drawn)} of {n_sites} mutants, seed {arguments.seed}")
    mutants = mutants or list(log)
    if arguments.list:
        print("\n".join(map(difference, mutants)))
        return
    judge_all(mutants, arguments, log)
    show(mutants, log)


if __name__ == "__main__":
    main()
