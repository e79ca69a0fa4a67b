"""Parallel loops in C, compiled with the threads of the package or those of the compiler."""

import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
KERNELS = HERE.parents[1] / "rffkern" / "_native" / "threads"
REFUSED = """
import os, resource
import numpy as np
from rffkern import FourierBoostingClassifier, GBRFF2Classifier
from rffkern._rows import threads
threads.machine_cpus = lambda: 64
rng = np.random.default_rng(0)
X = rng.standard_normal((100_000, 12)); y = X[:, 0] * X[:, 1] > 0
def answers(n_threads):
    models = (GBRFF2Classifier(3, random_state=0, n_jobs=n_threads),
              FourierBoostingClassifier(n_estimators=2, n_bags=2, kernel_ridge=False, random_state=0,
                                        n_jobs=n_threads))
    return [model.fit(X[:20_000 * k], y[:20_000 * k]).decision_function(X) for k, model in zip((5, 1), models)]
expected = answers(1)
if os.getuid() == 0:   # whom the limit does not bind
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
print("same bits" if np.array_equal(expected, answers(32)) else "other bits")
"""


def compile_regions(folder, name, *arguments, team=KERNELS / "team.c"):
    """Compile regions.c, with a runtime if that is asked for, and return the program."""
    program = pathlib.Path(folder) / name
    objects = []
    own = "-DRFF_OWN_TEAM" in arguments
    for source in [HERE / "regions.c", *([team, KERNELS / "gomp.c"] if own else [])]:
        objects.append(f"{program}-{source.stem}.o")
        subprocess.run(["gcc", "-std=gnu11", "-fopenmp", f"-I{KERNELS}", *arguments, "-c", source, "-o", objects[-1]],
                       check=True)
    linked = [argument for argument in arguments if argument.startswith("-fsanitize")]
    subprocess.run(["gcc", "-pthread" if own else "-fopenmp", *linked, "-o", program, *objects], check=True)
    return program
