"""Where PyInstaller finds the hook of this package."""

import os


def hook_dirs() -> list[str]:
    """Folders with hooks: that of this file."""
    return [os.path.dirname(__file__)]
