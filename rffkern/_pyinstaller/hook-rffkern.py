"""Names the modules that a frozen program needs: families and kernels are loaded by their names."""

from PyInstaller.utils.hooks import collect_submodules

hiddenimports = collect_submodules("rffkern", filter=lambda name: not name.startswith("rffkern._pyinstaller"))
