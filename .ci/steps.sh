# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The steps of .ci/run: name, the steps that it comes after, what it does. The function step_NAME is
# run in a shell of its own that stops at the first error; status 77 means skipped. They are started in
# this order: those that take long come early, so that none of them ends alone.

STEPS='machine||the compilers and tools that other steps need
setup|machine|an environment with this package, as README.md says
tools|setup|formatters and checkers
style|tools|formatters and linters
types|tools|mypy
headers|machine|each public header compiles alone
asan|tools|C tests, operators and conformance with AddressSanitizer and UndefinedBehaviorSanitizer
fuzz|tools|each fuzzer for 20 s: operators, descriptors, layouts, the host runtime
tests|tools|the tests, as README.md says
models|tools|modules of mmcv 2.1.0 and 2.2.0, models of mmdet and mmseg, ONNX files, in another environment
mutation|tools|the conformance suite notices when checks are broken
clang|tools|C tests, compiled by Clang
wheel|tools|sdist and manylinux wheel, alone and beside torch; the wheel is reproducible
arm64|tools|C tests for arm64, emulated
slow|tools|all other instruction sets; a family is dropped into a copy of the tree; what takes long
install|tools|an installed tree that was moved: shared, and static by Clang; as a subproject
serial|tools|C tests without threads, with the CFLAGS of one who wants fast-math
tsan|tools|C tests of threads with ThreadSanitizer
docs|tools|the documentation site, without a warning
cpus|tests|C tests on CPUs that lack what this one has, emulated
isas|tests|C tests with every instruction set below the best'

# get PACKAGE...: from apt, if .ci/run may install something.
get() {
  if [[ -z ${INSTALL:-} ]]; then
    echo "missing here: apt-get install $*, or .ci/run --install"
    exit 77
  fi
  export DEBIAN_FRONTEND=noninteractive
  flock build/ci/apt.lock apt-get update -q
  flock build/ci/apt.lock apt-get install -qy --no-install-recommends "$@"
}

# need COMMAND PACKAGE...: the packages, if the command is not there.
need() {
  command -v "$1" >/dev/null || get "${@:2}"
}

c_tests() { # PRESET [PYTEST ARGUMENTS]: the C tests, built by that preset; by pip if it is empty
  local preset=$1
  shift
  env ${preset:+PYMLUOPS_TEST_PRESET=$preset} python -m pytest -q tests/core/test_c.py "$@"
}

# -------------------------------------------------------------------------- the environment

step_machine() {
  local packages=() command
  for command in g++ clang make pkg-config; do
    command -v $command >/dev/null || packages+=($command)
  done
  python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
  python3 -c 'import os, sysconfig
os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null || packages+=(python3-dev)
  ((${#packages[@]} == 0)) || get "${packages[@]}"
}

step_setup() {
  python3 -m venv .venv && .venv/bin/pip install -e '.[test]'
}

extra() { # NAME [PYTHON]: installs what an extra names, without another build of the package
  python - "$1" >"build/ci/$1.txt" <<'END'
import sys, tomllib
with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["project"]["optional-dependencies"][sys.argv[1]], sep="\n")
END
  "${2:-python}" -m pip install -q -r "build/ci/$1.txt"
}

step_tools() {
  extra dev
}

step_tests() {
  .venv/bin/python -m pytest -n auto
}

# What comes with mmcv is not for the environment of the tests: a second one, on top of the first. The
# version that mmdet and mmseg accept is not mmcv's last.
step_models() {
  local work=$root/build/ci/models python
  python=$work/bin/python
  [[ -x $python ]] || python3 -m venv "$work"
  .venv/bin/python - "$work" <<'END'
import pathlib, sys, sysconfig
below = sysconfig.get_path("purelib")
folder, = pathlib.Path(sys.argv[1]).glob("lib/python3*/site-packages")
(folder / "below.pth").write_text(f"import site; site.addsitedir({below!r})\n")
END
  extra test-mmcv "$python"
  mmcv_tests "$python" 2.2.0
  extra models "$python"
  mmcv_tests "$python" 2.1.0
  $python -c 'import mmdet, mmseg, onnx'
  $python -m pytest -q -p no:cacheprovider tests/models
}

mmcv_tests() { # PYTHON VERSION: the tests of mmcv's own modules, those that take long as well
  "$1" -c 'import sys, mmcv; assert mmcv.__version__ == sys.argv[1], mmcv' "$2"
  "$1" -m pytest -q -p no:cacheprovider -m "not huge" tests/torch/test_torch_mmcv*.py \
    tests/*/test_*_torch_mmcv.py
}

# ------------------------------------------------------------------------------ the sources

step_style() {
  ruff check .
  ruff format --check .
  find .ci benchmarks c_src examples include tests -name '*.[ch]' -print0 |
    xargs -0 clang-format --dry-run --Werror
}

step_types() {
  mypy
}

step_headers() {
  need g++ g++
  need clang clang
  local header compiler
  for header in include/*.h; do
    for compiler in gcc clang; do
      $compiler -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c "$header"
      $compiler -std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ "$header"
    done
  done
}

step_docs() {
  extra docs
  python docs/site/build.py
}

# ------------------------------------------------------------------ compilers and processors

step_clang() {
  need clang clang
  c_tests clang
}

step_serial() {
  c_tests serial
}

step_isas() {
  local isa
  for isa in $(python -c 'import pymluops; print(*pymluops.supported_isas()[1:])'); do
    echo "== $isa"
    MLUOP_CPU_ISA=$isa ctest --test-dir "$(echo build/cpython-*)" --output-on-failure -E test_isa
  done
}

step_cpus() {
  [[ $(uname -m) == x86_64 ]] || { echo "x86-64 only"; exit 77; }
  need qemu-x86_64 qemu-user
  PYMLUOPS_TEST_EMULATOR="qemu-x86_64 -cpu Nehalem" c_tests ""
  # No values: loads by a mask read all of a vector in the emulator, also behind the end of a page.
  PYMLUOPS_TEST_EMULATOR="qemu-x86_64 -cpu Haswell" c_tests "" -k "isa or threads"
}

step_arm64() {
  need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
  need qemu-aarch64 qemu-user
  PYMLUOPS_TEST_EMULATOR="qemu-aarch64 -L /usr/aarch64-linux-gnu" c_tests arm64
}

# -------------------------------------------------------------------------------- sanitizers

step_asan() {
  c_tests asan
  cmake --build build/asan --target mluops
  # The operators' tests again, on the library with sanitizers: it comes before the package's own.
  local preload library=$root/build/asan/libmluops.so
  preload="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so) $library"
  export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
  LD_PRELOAD=$preload python -c '
import pymluops.capi
info = pymluops.capi.ffi.string(pymluops.capi.lib.mluOpCpuGetBuildInfo()).decode()
assert "address" in info, info'
  LD_PRELOAD=$preload python -m pytest -q -p no:cacheprovider \
    --ignore-glob='*_torch*' $(dirname tests/*/contract.toml)
  LD_PRELOAD=${preload% *} python -m pytest -q -p no:cacheprovider tests/conformance \
    --mluop-library="$library"
}

step_tsan() {
  # Address randomisation of some kernels leaves ThreadSanitizer no room for its shadow.
  setarch -R true 2>/dev/null && local fixed="setarch -R"
  PYMLUOPS_TEST_EMULATOR="${fixed:-}" c_tests tsan -k "threads or parallel or fork or faults or interrupt or soak or messages or cnrt or values"
}

# Every other step builds by GCC, whose sanitizers bring no fuzzer.
step_fuzz() {
  need clang clang
  [[ -e $(clang -print-runtime-dir)/libclang_rt.fuzzer-$(uname -m).a ]] || get libclang-rt-dev
  # One seed: whether a change is accepted does not depend on chance. Longer runs take others.
  python tests/fuzz/run.py --isas native --jobs 1 --seed 1
}

step_mutation() {
  python tests/mutation/run.py
}

step_slow() {
  extra bench
  extra dask
  python -m pytest -q -m slow
}

# ---------------------------------------------------------------------------------- packages

conformance() { # FOLDER: of the library there alone, as the accelerator's would be tested
  python -m pytest -q -p no:cacheprovider tests/conformance \
    --mluop-library="$1/libmluops.so" --cnrt-library="$1/libcnrt.so" \
    --junit-xml="$root/build/ci/conformance.xml" \
    --conformance-report="$root/build/ci/conformance.md"
}

consume() { # FOLDER CMAKE ARGUMENTS: builds and runs the consumer
  local folder=$1
  shift
  rm -rf "$folder"
  cmake -S .ci/consumer -B "$folder" -G Ninja -DCMAKE_C_COMPILER=gcc "$@"
  cmake --build "$folder"
  "$folder/consumer"
}

consume_by_pkg_config() { # FOLDER PREFIX [--static]
  local folder=$1 prefix=$2
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  mkdir -p "$folder" && rm -rf "${folder:?}"/*
  gcc -std=c99 .ci/consumer/consumer.c -o "$folder/by_pkg_config" \
    $(pkg-config ${3:-} --cflags --libs mluops)
  LD_LIBRARY_PATH=$prefix/lib "$folder/by_pkg_config"
  make -C examples/c run OUT="$folder" PKG_CONFIG_PATH="$prefix/lib/pkgconfig" STATIC="${3:-}"
}

# Kernels have been tested elsewhere: those of one instruction set are enough here, not optimised.
step_install() {
  need pkg-config pkg-config
  need clang clang
  local work=$root/build/ci/install kind compiler
  for kind in shared static; do
    [[ $kind == shared ]] && compiler=gcc || compiler=clang
    rm -rf "$work/$kind" "$work/prefix" "$work/moved"
    cmake -S . -B "$work/$kind" -G Ninja -DCMAKE_C_COMPILER=$compiler -DCMAKE_BUILD_TYPE=Debug \
      -DBUILD_SHARED_LIBS="$([[ $kind == shared ]] && echo ON || echo OFF)" \
      -DMLUOP_ISAS=native -DCMAKE_INSTALL_LIBDIR=lib
    cmake --build "$work/$kind"
    cmake --install "$work/$kind" --prefix "$work/prefix"
    mv "$work/prefix" "$work/moved"
    cmp LICENSE "$work/moved/share/doc/mluops/LICENSE"
    consume "$work/consumer" -Dmluops_DIR="$work/moved/lib/cmake/mluops"
    if [[ $kind == shared ]]; then
      consume_by_pkg_config "$work/examples" "$work/moved"
      conformance "$work/moved/lib"
    else
      consume_by_pkg_config "$work/examples" "$work/moved" --static
    fi
  done
  local quick=(-DCMAKE_BUILD_TYPE=Debug -DMLUOP_ISAS=native)
  quick+=(-DMLUOP_FAMILIES="$(ls c_src/families | head -n 1)")
  consume "$work/consumer" "${quick[@]}" -DSUBPROJECT="$root"
  consume "$work/consumer" "${quick[@]}" -DFETCHED="$root" -DBUILD_SHARED_LIBS=OFF
}

step_wheel() {
  need pkg-config pkg-config
  local work=$root/build/ci/wheel python package file
  rm -rf "$work"
  packaging/wheel.sh "$work/dist"
  PATH=$root/build/packaging/bin:$PATH PYMLUOPS_TEST_WHEEL=$(echo "$work"/dist/*.whl) \
    .venv/bin/python -m pytest -q -p no:cacheprovider packaging
  python3 -m venv "$work/clean"
  "$work/clean/bin/pip" install -q "$work"/dist/*.whl
  python=$work/clean/bin/python
  cd "$work"
  $python -m pymluops selftest
  package=$($python -c 'import pymluops, pathlib; print(pathlib.Path(pymluops.__file__).parent)')
  $python -c "
import ctypes
library = ctypes.CDLL('$package/lib/libmluops.so')
assert library.mluOpDestroy(None) == 3"
  # Built in another folder from the same sources, these are the same, byte for byte.
  for file in _native.abi3.so lib/libmluops.so lib/libcnrt.so lib/libcndrv.so; do
    cmp "$package/$file" "$root"/.venv/lib/python3*/site-packages/pymluops/"$file"
  done
  cd "$root"
  consume "$work/consumer" -Dmluops_DIR="$package/lib/cmake/mluops"
  consume_by_pkg_config "$work/examples" "$package"
}
