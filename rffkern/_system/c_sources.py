"""Where the C sources are that score models without Python."""

import os


def get_include() -> str:
    """Return the folder of `rffkern.h` and `rffscore.c`, by which C programs read model files and score rows.

    Returns
    -------
    str
        For the option -I of a C compiler.

    Examples
    --------
    >>> import os, rffkern
    >>> sorted({"rffkern.h", "rffscore.c"} & {*os.listdir(rffkern.get_include())})
    ['rffkern.h', 'rffscore.c']
    """
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), "include")
