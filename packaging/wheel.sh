#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds what a package index gets: see usage() and docs/packaging.md.

set -euo pipefail

usage() {
  cat <<END
Usage: packaging/wheel.sh [--arm64] FOLDER

The source distribution and a manylinux wheel with the OpenMP runtime, in FOLDER.

  --arm64  a wheel for arm64 instead, by Debian's gcc-aarch64-linux-gnu

The tools are those of packaging/requirements.txt, in build/packaging. Without a network: once
    pip download --require-hashes -r packaging/requirements.txt -d TOOLS
and then PIP_NO_INDEX=1 PIP_FIND_LINKS=TOOLS packaging/wheel.sh FOLDER
END
}

arm64=
while (($#)); do
  case $1 in
    --arm64) arm64=yes ;;
    -*) usage; [[ $1 == --help || $1 == -h ]]; exit ;;
    *) break ;;
  esac
  shift
done
(($# == 1)) || { usage >&2; exit 2; }
mkdir -p "$1"
folder=$(realpath "$1")
cd "$(dirname "$0")/.."

tools=$PWD/build/packaging
python3 -m venv "$tools"
"$tools/bin/pip" install -q --require-hashes -r packaging/requirements.txt
export PATH=$tools/bin:$PATH
# The same sources make the same files.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1700000000}

raw=$tools/raw
rm -rf "$raw"
choices=(-C cmake.define.MLUOP_BUNDLE_OPENMP=ON -C cmake.define.MLUOP_WERROR=ON)
if [[ $arm64 ]]; then
  # Headers of Python's stable ABI are the same on every machine with 64 bits.
  include=$(python -c 'import sysconfig; print(sysconfig.get_path("include"))')
  choices+=(-C "cmake.define.Python_INCLUDE_DIR=$include")
  export _PYTHON_HOST_PLATFORM=linux-aarch64
  export CMAKE_TOOLCHAIN_FILE=$PWD/c_src/cmake/aarch64-linux-gnu.cmake
fi
python -m build --no-isolation --outdir "$raw" "${choices[@]}" .
auditwheel repair --wheel-dir "$folder" "$raw"/*.whl
cp "$raw"/*.tar.gz "$folder"
