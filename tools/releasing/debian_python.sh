#!/usr/bin/env bash
# Python of Debian for another machine, in a folder, to run wheels under qemu-user; nothing is installed.
#
#     tools/releasing/debian_python.sh FOLDER [arm64]
#
# FOLDER/python then runs it, with numpy.  It needs qemu-user, and `dpkg --add-architecture arm64 && apt-get update`.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
architecture=${2:-arm64}
case $architecture in
  arm64) machine=aarch64;;
  *) echo "unknown architecture $architecture"; exit 2;;
esac
packages=(python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 zlib1g libexpat1 libgcc-s1 libstdc++6
  libgomp1 libssl3 libffi8 libbz2-1.0 liblzma5 libcrypt1 libuuid1)
mkdir -p "$folder/packages" "$folder/system" "$folder/site"
(cd "$folder/packages" && apt-get download -q "${packages[@]/%/:$architecture}" 2>/dev/null)
for package in "$folder"/packages/*.deb; do dpkg-deb -x "$package" "$folder/system"; done
python3 -m pip install --quiet --no-deps --only-binary :all: --platform "manylinux_2_28_$machine" \
  --platform "manylinux_2_27_$machine" --platform "manylinux2014_$machine" --python-version 3.11 \
  --target "$folder/site" 'numpy>=1.26'
cat >"$folder/python" <<END
#!/bin/sh
export PYTHONPATH="$folder/site\${PYTHONPATH:+:\$PYTHONPATH}"
exec qemu-$machine -L "$folder/system" "$folder/system/usr/bin/python3.11" "\$@"
END
chmod +x "$folder/python"
"$folder/python" -c 'import platform, numpy; print(platform.machine(), platform.python_version(), numpy.__version__)'
