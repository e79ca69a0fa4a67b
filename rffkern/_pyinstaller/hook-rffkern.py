"""Names the modules that a frozen program needs: families and kernels are loaded by their names."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

datas = collect_data_files("rffkern", includes=["include/rffkern.h", "include/rffscore.c"])  # of exported files
hiddenimports = collect_submodules("rffkern", filter=lambda name: not name.startswith("rffkern._pyinstaller"))
