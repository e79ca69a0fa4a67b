"""Jobs that try to break the package: each case is drawn with a seed, and says what was wrong or nothing."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tests"))  # what jobs share with tests is in tests/helpers
