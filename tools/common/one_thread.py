"""Restrict the numerical libraries to one thread; to be imported before numpy, which reads these variables."""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
