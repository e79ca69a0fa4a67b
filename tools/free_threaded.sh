#!/usr/bin/env bash
# The tests that start threads, with free-threaded Python and the GIL off.
#
#     tools/free_threaded.sh FOLDER [PYTEST ARGUMENT]...
#
# Python is built in FOLDER, with numpy and the package beside it, where that is not done yet: half an hour on two busy
# cores.  Its source is that of a Debian suite, named by SOURCE: the rest of a line "deb-src" of sources.list.  A package
# index must have a wheel of NUMPY for cp313t, as 2.4.6 is; without one pip would build numpy.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd); shift
cd "$(dirname "$0")/.."
: "${VERSION:=3.13}" "${NUMPY:=2.4.6}"
python=$folder/venv/bin/python

if [ ! -x "$folder/python/bin/python${VERSION}t" ]; then
  : "${SOURCE:?names no Debian suite, as in [signed-by=KEYRING] URL trixie main}"
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/source"
  echo "deb-src $SOURCE" >"$folder/sources.list"
  apt=(apt-get -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=-
       -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache")
  "${apt[@]}" update
  (cd "$folder/source" && "${apt[@]}" source --download-only "python$VERSION" && tar xf python"$VERSION"_*.orig.tar.xz
   cd Python-*/ && ./configure --disable-gil --disable-test-modules --prefix="$folder/python" CFLAGS='-O1 -g0' &&
   make -j2 && make install) >"$folder/python.log" 2>&1 || { tail -n 30 "$folder/python.log"; exit 1; }
fi
if [ ! -x "$python" ]; then
  "$folder/python/bin/python${VERSION}t" -m venv "$folder/venv"
  "$python" -m pip install --quiet --only-binary :all: "numpy==$NUMPY" cython meson-python ninja pytest 'hypothesis<6.140'
fi
PATH=$folder/venv/bin:$PATH "$python" -m pip install --quiet --no-build-isolation --no-deps \
  -Cbuild-dir="$folder/build" .

export PYTHON_GIL=0
"$python" -P -c 'import sys, rffkern
for name in rffkern.__all__:
    getattr(rffkern, name)
assert not sys._is_gil_enabled(), "an extension has turned the GIL on"'
if [ $# -eq 0 ]; then
  set -- $(grep -rlE 'threading|ThreadPool' tests --include='test_*.py' | grep -v -e _cli -e test_tools) tests/contract
fi
PYTHON_GIL=0 "$folder/venv/bin/pytest" -q --all -p no:cacheprovider "$@"
