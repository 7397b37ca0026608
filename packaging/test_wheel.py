# SPDX-License-Identifier: Apache-2.0
"""A wheel as packaging/wheel.sh makes it: what it has, what it says, and what it needs.

PYMLUOPS_TEST_WHEEL=FILE python -m pytest packaging; needs patchelf and a C compiler.
"""

import email
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from pathlib import Path

import cffi
import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/package"))
from hardening import check_hardened, check_stack_and_tables, readelf  # noqa: E402

WHEEL = Path(os.environ["PYMLUOPS_TEST_WHEEL"])
_, VERSION, *TAGS = WHEEL.stem.split("-")
INFO = f"pymluops-{VERSION}.dist-info"
REPOSITORY = "https://github.com/pymluops/pymluops"
FILES = f"(?:{REPOSITORY}/blob|https://raw.githubusercontent.com/pymluops/pymluops)/v{VERSION}/"

# What is in a wheel beside the Python files. docs/packaging.md says what each is for.
BUILT = {
    "pymluops/_native.abi3.so",
    "pymluops/_native.pyi",
    *(f"pymluops/include/{path.name}" for path in (ROOT / "include").glob("*.h")),
    *(f"pymluops/lib/lib{name}" for name in ("mluops.so", "cnrt.so", "cndrv.so", "gomp.so.1")),
    *(
        f"pymluops/lib/cmake/mluops/mluops-{name}.cmake"
        for name in ("config", "config-version", "targets", "targets-release")
    ),
    *(f"pymluops/lib/cmake/mluops/mluops-version-{name}.cmake" for name in ("api", "library")),
    "pymluops/lib/pkgconfig/mluops.pc",
    *(f"{INFO}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")),
    f"{INFO}/licenses/LICENSE",
    f"{INFO}/licenses/LICENSE.libgomp",
    f"{INFO}/sboms/pymluops.cdx.json",
}


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(WHEEL) as wheel:
        wheel.extractall(folder)
    return folder


@pytest.fixture(scope="session")
def metadata(unpacked: Path) -> Message:
    return email.message_from_bytes((unpacked / INFO / "METADATA").read_bytes())


def test_contents(unpacked: Path) -> None:
    """No file more than Python's and those of the list, none less."""
    found = {
        path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()
    }
    python = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pymluops").rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    assert found == python | BUILT


def test_tags() -> None:
    """One wheel for every Python, on distributions of several years."""
    python, abi, machine = TAGS
    assert (python, abi) == ("cp310", "abi3")
    assert re.fullmatch(r"manylinux_2_\d+_(x86_64|aarch64)", machine)
    assert int(machine.split("_")[2]) <= 34


def test_metadata(metadata: Message) -> None:
    assert metadata["Author"] == "pymluops developers"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert f"Homepage, {REPOSITORY}" in (metadata.get_all("Project-URL") or [])
    classifiers = metadata.get_all("Classifier") or []
    assert "Operating System :: POSIX :: Linux" in classifiers
    for minor in range(11, 15):
        assert f"Programming Language :: Python :: 3.{minor}" in classifiers
    assert any(name.startswith("Topic :: ") for name in classifiers)


def test_links_work_on_a_package_index(metadata: Message) -> None:
    """The description is README.md, its links lead to files of the release."""
    text = bytes(metadata.get_payload(decode=True) or b"").decode()
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r'\]\(([^)\s]+)|(?:src|srcset|href)="([^"\s]+)', prose)
    targets = [first or second for first, second in links]
    assert len(targets) > 10
    for target in targets:
        assert re.match("https://|#", target), target
        inside = re.match(FILES, target)
        if inside:
            assert (ROOT / target[inside.end() :].partition("#")[0]).exists(), target
    relative = re.sub(FILES, "", text)
    assert relative.strip() == (ROOT / "README.md").read_text().strip()


def test_bill_of_materials(unpacked: Path) -> None:
    text = (unpacked / INFO / "sboms/pymluops.cdx.json").read_text()
    bill = json.loads(text)
    assert bill["metadata"]["component"]["version"] == VERSION
    (runtime,) = bill["components"]
    content = (unpacked / "pymluops/lib/libgomp.so.1").read_bytes()
    assert runtime["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}]
    assert (
        "GCC Runtime Library Exception"
        in (unpacked / INFO / "licenses/LICENSE.libgomp").read_text()
    )


def test_libraries_are_hardened(unpacked: Path) -> None:
    libraries = sorted(unpacked.rglob("*.so*"))
    assert len(libraries) == 5
    for path in libraries:
        if path.name == "libgomp.so.1":  # as the distribution has built it
            check_stack_and_tables(path)
        else:
            check_hardened(path)


def test_the_runtime_keeps_its_name(unpacked: Path) -> None:
    """Under another name it would be a second one beside torch's; an older one will do."""
    runtime = readelf("-d", unpacked / "pymluops/lib/libgomp.so.1")
    assert re.search(r"\(SONAME\).*\[libgomp\.so\.1\]", runtime)
    library = unpacked / "pymluops/lib/libmluops.so"
    assert re.search(r"\(NEEDED\).*\[libgomp\.so\.1\]", readelf("-d", library))
    assert re.search(r"\(RPATH\).*\[\$ORIGIN\]", readelf("-d", library))
    found = re.findall(r"(\w+) +DEFAULT +UND (\w+)@(G?OMP_[\d.]+)", readelf("--dyn-syms", library))
    assert {version for binding, _, version in found if binding != "WEAK"} == {
        "GOMP_4.0",
        "OMP_1.0",
        "OMP_3.0",
    }


# ------------------------------------------------------------------------------- in a process

RUNS_HERE = pytest.mark.skipif(
    platform.machine() not in TAGS[2],
    reason=f"a wheel for {TAGS[2]} does not run on {platform.machine()}",
)

PRELUDE = """
import re, sys, threading
import numpy as np

def runtimes():
    with open("/proc/self/maps") as maps:
        return set(re.findall(r"(/\\S*lib(?:gomp|omp|iomp)\\S*\\.so\\S*)", maps.read()))

def threads():
    import os
    return len(os.listdir("/proc/self/task"))

def ours():
    import pymluops
    with pymluops.threads(3):
        return pymluops.to_nhwc(np.arange(1 << 21, dtype=np.float32).reshape(1, 32, 256, 256))

def theirs():
    import torch
    torch.set_num_threads(3)
    x = torch.ones(1 << 21)
    return float((x * 2 + x).sum())

def check(output):
    expected = np.arange(1 << 21, dtype=np.float32).reshape(1, 32, 256, 256).transpose(0, 2, 3, 1)
    assert output.tobytes() == expected.tobytes()
"""


def run(unpacked: Path, code: str, *arguments: str) -> list[str]:
    """Run code with the wheel's package, and none that is installed here."""
    folders = [unpacked, *(Path(module.__file__).parents[1] for module in (np, cffi, torch))]
    path = f"import sys; sys.path[:0] = {[str(folder) for folder in folders]}\n"
    environment = os.environ | {"OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", path + PRELUDE + code, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@RUNS_HERE
def test_alone_it_uses_what_it_brought(unpacked: Path) -> None:
    shown = run(unpacked, "check(ours())\nprint(*runtimes())")
    assert shown == [str(unpacked / "pymluops/lib/libgomp.so.1")]


@RUNS_HERE
@pytest.mark.parametrize("first", ["torch", "pymluops"])
def test_one_runtime_beside_torch(unpacked: Path, first: str) -> None:
    """The one that was loaded first serves both, and its three threads are those of both."""
    code = """
calls = {"torch": theirs, "pymluops": ours}
first = calls.pop(sys.argv[1])
(second,) = calls.values()
results = [first(), second()]
before = threads()
for _ in range(3):
    check(ours())
    assert theirs() == 3 << 21
print(threads() - before, *runtimes())
"""
    more, *found = run(unpacked, code, first)
    owner = unpacked / "pymluops" if first == "pymluops" else Path(torch.__file__).parent
    assert found == [str(owner / "lib/libgomp.so.1")]
    assert more == "0"


@RUNS_HERE
def test_two_runtimes_work_and_have_threads_of_their_own(unpacked: Path, tmp_path: Path) -> None:
    """As where another package has renamed its own: wheels of torch before 2.10, scikit-learn."""
    source, other = tmp_path / "other.c", tmp_path / "libother.so"
    source.write_text(
        "int other(int n) {\n  int sum = 0;\n"
        "#pragma omp parallel for num_threads(3) reduction(+ : sum)\n"
        "  for (int i = 0; i < n; i++) sum += 1;\n  return sum;\n}\n"
    )
    renamed = tmp_path / "libgomp-0123abcd.so.1"
    shutil.copy(unpacked / "pymluops/lib/libgomp.so.1", renamed)
    commands = [
        ["cc", "-shared", "-fPIC", "-fopenmp", str(source), "-o", str(other)],
        ["patchelf", "--set-soname", renamed.name, str(renamed)],
        ["patchelf", "--replace-needed", "libgomp.so.1", renamed.name, str(other)],
        ["patchelf", "--set-rpath", "$ORIGIN", str(other)],
    ]
    for command in commands:
        subprocess.run(command, check=True, capture_output=True)
    code = """
import ctypes
other = ctypes.CDLL(sys.argv[1]).other
start = threads()
assert other(1000) == 1000
check(ours())
print(threads() - start, len(runtimes()))

def repeat(call):
    for _ in range(20):
        call()

def counted():
    assert other(100000) == 100000

both = [threading.Thread(target=repeat, args=[call]) for call in (counted, lambda: check(ours()))]
[thread.start() for thread in both]
[thread.join() for thread in both]
"""
    assert run(unpacked, code, str(other)) == ["4", "2"]
