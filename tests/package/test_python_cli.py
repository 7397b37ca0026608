# SPDX-License-Identifier: Apache-2.0
"""The command line: info, selftest, demo, config."""

import itertools
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from python_calls import CALLS

import pymluops
from pymluops import __main__ as cli


def test_info(capsys):
    assert cli.main(["info"]) == 0
    shown = capsys.readouterr().out
    for part in (
        "pymluops         ",
        "mluOp API        1.11.1",
        pymluops.supported_isas()[0],
        str(pymluops.library_path()),
        np.__version__,
    ):
        assert part in shown
    pymluops.show_config()
    assert capsys.readouterr().out == shown


def test_selftest_passes(capsys):
    assert cli.main(["selftest", "--seed", "5"]) == 0
    shown = capsys.readouterr().out
    for name in (name for name in pymluops.__all__ if name.endswith(("_forward", "_backward"))):
        assert f"\n{name} " in shown
    assert not re.search(r"\wfloat\d", shown)  # columns do not touch
    assert "FAILED" not in shown
    assert "checks passed" in shown.splitlines()[-1]
    assert "MLUOP_CPU_ISA" not in os.environ


def some_operator(kind, outputs=1, arrays=1):
    """Return the first operator of a kind, so many results and at least so many arrays."""
    return next(
        (call.name, call.function)
        for call in CALLS.values()
        if call.kind == kind and len(call.outputs) == outputs and len(call.arrays) >= arrays
    )


def test_selftest_notices(capsys, monkeypatch):
    """A wrong value, a dependence on threads and an error each fail the test, by name."""

    def replace(name, function):
        function.__name__ = name
        monkeypatch.setattr(pymluops, name, function)

    moved, good = some_operator("movement")
    replace(moved, lambda *a, **k: good(*a, **k) + np.float32(1e-30))
    summed, sums = some_operator("arithmetic")
    replace(
        summed,
        lambda *args, handle, **numbers: (
            sums(*args, handle=handle, **numbers) * (1 + 2 ** -np.float16(handle.num_threads))
        ),
    )

    def failing(*_, **__):
        raise pymluops.InternalError(4, "f", "it broke")

    failed, _ = some_operator("arithmetic", 2)
    replace(failed, failing)
    assert cli.main(["selftest"]) == 1
    shown = capsys.readouterr().out
    isa = pymluops.supported_isas()[0]
    assert re.search(rf"{moved} .*float32 {isa}: failed: diff3_2 .*, expected 0", shown)
    assert re.search(rf"{summed} .*float16 {isa}: results depend on the number of threads", shown)
    assert re.search(rf"{failed} .*float32 {isa}: it broke", shown)
    assert "checks FAILED" in shown.splitlines()[-1]


def test_config(capsys):
    def answer(*flags):
        assert cli.main(["config", *flags]) == 0
        return capsys.readouterr().out.strip()

    include, lib = Path(answer("--includedir")), Path(answer("--libdir"))
    assert (include / "mlu_op.h").is_file()
    assert (lib / "libmluops.so").is_file()
    assert (Path(answer("--cmakedir")) / "mluops-config.cmake").is_file()
    assert (Path(answer("--pkgconfigdir")) / "mluops.pc").is_file()
    assert answer("--cflags") == f"-I{include}"
    assert answer("--libs").startswith(f"-L{lib} ")
    assert "-lmluops" in answer("--libs").split()
    assert answer("--cflags", "--libs") == f"{answer('--cflags')} {answer('--libs')}"
    assert cli.main(["config"]) == 2
    assert "expected some of --cflags" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"pymluops {pymluops.__version__}\n"


def test_demo_where_nothing_can_be_written(capsys, tmp_path, monkeypatch):
    """It is said before the work."""
    monkeypatch.setattr("pymluops.demo._scenes", None)
    assert cli.main(["demo", str(tmp_path / "missing" / "picture.png")]) == 1
    assert capsys.readouterr().err == f"pymluops demo: {tmp_path / 'missing'} is not a folder\n"
    assert cli.main(["demo", str(tmp_path / "picture.jpg")]) == 1
    assert "expected a name that ends with .png" in capsys.readouterr().err


def test_demo_refuses_other_outputs(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("pymluops.demo._scenes", None)
    folder = tmp_path / "folder.png"
    folder.mkdir()
    for path, problem in (
        (folder, "is a folder, expected a file to write"),
        ("picture", "'picture' given, expected a name that ends with .png"),
        ("", "'.' given"),
        ("/proc/picture.png", "'/proc/picture.png'"),
    ):
        assert cli.main(["demo", str(path)]) == 1
        shown = capsys.readouterr()
        assert problem in shown.err
        assert shown.err.startswith("pymluops demo: ")
        assert shown.out == ""
    assert [*tmp_path.iterdir()] == [folder]


class Clock:
    """A clock that only calls make go on."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr("time.perf_counter", lambda: self.now)

    def call(self, *seconds):
        """A call that takes as long as the list says, over and over."""
        turns = itertools.cycle(seconds)

        def again():
            self.now += next(turns)

        return again


def test_times_of_the_demo_on_a_busy_machine(monkeypatch):
    """The best of runs spread over more than a second; when most are longer, that is said."""
    from pymluops.demo import _run

    clock = Clock(monkeypatch)
    for seconds, quiet in (((0.001, 0.0011), True), ((0.001, 0.004, 0.004), False)):
        outcomes = [_run.Outcome("f", None, clock.call(*seconds)) for _ in range(3)]
        begin = clock.now
        assert _run.time_all(outcomes) == quiet
        assert clock.now - begin > 1
        assert {round(outcome.milliseconds, 6) for outcome in outcomes} <= {1, 1.1}
    slow = [_run.Outcome("f", None, clock.call(0.3))]
    assert _run.time_all(slow)


def test_demo_says_when_it_was_disturbed(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("pymluops.demo.time_all", lambda outcomes: False)
    monkeypatch.setattr("pymluops.demo._scenes", list)
    assert cli.main(["demo", str(tmp_path / "picture.png")]) == 0
    assert "DISTURBED by other programs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("variable", "problem"),
    [
        ("MLUOP_CPU_ISA=foo", 'MLUOP_CPU_ISA is "foo", expected one that this CPU'),
        ("MLUOP_CPU_CACHE_BYTES=x", 'MLUOP_CPU_CACHE_BYTES is "x", expected a number'),
        ("MLUOP_MIN_VLOG_LEVEL=abc", 'MLUOP_MIN_VLOG_LEVEL is "abc" and not used, expected a num'),
        ("MLUOP_MIN_VLOG_LEVEL=-1", 'MLUOP_MIN_VLOG_LEVEL is "-1" and not used, expected a num'),
    ],
)
def test_info_with_a_wrong_setting(variable, problem):
    """The command for problem reports tells it, and everything else."""
    name, _, value = variable.partition("=")
    command = [sys.executable, "-m", "pymluops", "info"]
    environment = {**os.environ, name: value}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    shown = done.stdout + done.stderr
    assert problem in shown
    assert "Traceback" not in shown
    assert re.search(f"\nenvironment .*{variable}", done.stdout)
    for part in ("instruction set", "threads", "library", "NumPy"):
        assert f"\n{part} " in done.stdout


def test_a_setting_that_ends_a_command(capsys, monkeypatch, tmp_path):
    """One line says what is wrong; nothing is measured, nothing is written."""
    monkeypatch.setenv("MLUOP_CPU_ISA", "foo")
    pymluops.default_handle().close()
    for command in (["demo", str(tmp_path / "picture.png")], ["bench", "--quick"]):
        assert cli.main(command) == 1
        shown = capsys.readouterr()
        assert re.fullmatch(r'pymluops: .*MLUOP_CPU_ISA is "foo", expected .*\n', shown.err)
        assert shown.out == ""
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("command", [["selftest"], ["case", "new", "thing_forward"]])
@pytest.mark.parametrize("seed", ["-1", "1.5", "x", ""])
def test_seeds(capsys, command, seed):
    with pytest.raises(SystemExit) as caught:
        cli.main([*command, "--seed", seed])
    assert caught.value.code == 2
    expected = f"argument --seed: '{seed}' given, expected a whole number, 0 or more"
    assert expected in capsys.readouterr().err


def run_command(*arguments, **streams):
    command = [sys.executable, "-m", "pymluops", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **streams)


def test_a_reader_that_has_seen_enough():
    with run_command("selftest", stdout=subprocess.PIPE) as running:
        assert running.stdout.readline().startswith("Every operator beside")
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 1


def test_output_that_is_closed():
    command = [sys.executable, "-m", "pymluops", "config", "--cflags"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("command", [["info"], ["config", "--cflags"], ["selftest"]])
def test_output_that_does_not_fit(command):
    with Path("/dev/full").open("w") as full, run_command(*command, stdout=full) as running:
        error = running.stderr.read()
    assert error == "pymluops: [Errno 28] No space left on device\n"
    assert running.returncode == 1


def test_help_is_plain_text(capsys):
    for arguments in (["--help"], ["config", "--help"], ["selftest", "--help"], ["case", "--help"]):
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        assert caught.value.code == 0
        shown = capsys.readouterr().out
        assert "`" not in shown
    cli.main(["selftest"])
    shown = capsys.readouterr().out
    assert "diff1 = sum |error| / sum |reference|" in shown
    assert "has no float16 rows" in shown


def test_wrong_commands():
    for arguments in ([], ["frobnicate"], ["selftest", "--seed", "x"]):
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        assert caught.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["bench", "--threads", "2"], "bench"),
        (["info", "now"], "info"),
        (["case", "new", "thing", "--size=3"], "case new"),
    ],
)
def test_an_unknown_option_shows_the_usage_of_its_command(arguments, command, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"usage: pymluops {command} [-h]")
    unknown = " ".join(arguments[1:] if command != "case new" else arguments[3:])
    assert said.endswith(f"pymluops {command}: error: unrecognized arguments: {unknown}\n")


PROGRAM = r"""
#include <stdio.h>
#include "mlu_op.h"
int main(void) {
  mluOpHandle_t handle;
  if (mluOpCreate(&handle) != MLUOP_STATUS_SUCCESS) return 1;
  puts(mluOpGetErrorString(mluOpDestroy(handle)));
  return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler named cc")
def test_config_builds_a_program(tmp_path):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)

    def config(flag):
        command = [sys.executable, "-m", "pymluops", "config", flag]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    build = ["cc", "-std=c99", *config("--cflags"), source, "-o", program, *config("--libs")]
    subprocess.run(build, check=True)
    assert subprocess.run([program], capture_output=True, check=True).stdout == (
        b"MLUOP_STATUS_SUCCESS\n"
    )


def read_png(path):
    """Return the pixels of a PNG file as the standard describes it, checking its checksums."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert checksum == zlib.crc32(kind + body)
        chunks[kind] = chunks.get(kind, b"") + body
        at += 12 + length
    width, height, depth, color = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, color, chunks[b"IEND"]) == (8, 2, b"")
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()  # rows are not filtered
    return rows[:, 1:].reshape(height, width, 3)


@pytest.fixture
def few_rounds(monkeypatch):
    """Let the demo time its operators for a moment only."""
    monkeypatch.setattr("pymluops.demo._run._ENOUGH", 0)


@pytest.mark.usefixtures("few_rounds")
def test_demo(capsys, tmp_path):
    picture = tmp_path / "picture.png"
    assert cli.main(["demo", str(picture)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[-2] == f"The picture is {picture.resolve()}. A browser opens it:"
    assert shown[-1] == picture.resolve().as_uri()
    for name in (name for name in pymluops.__all__ if name.endswith(("_forward", "_backward"))):
        lines = [line for line in shown if line.startswith(f"  {name} ")]
        assert lines, name
        assert all(" ok " in line and " ms " in line for line in lines)
        assert len({line.split(" ok ")[0] for line in lines}) == len(lines)  # told apart
    pixels = read_png(picture)
    assert pixels.shape[0] > 1000
    assert pixels.shape[1] > 1000
    assert len(np.unique(pixels.astype(np.uint32) @ [1, 256, 65536])) > 1000


@pytest.mark.usefixtures("few_rounds")
def test_demo_notices(capsys, monkeypatch, tmp_path):
    name, good = some_operator("movement", arrays=2)

    def wrong(*args, **kwargs):
        return good(*args, **kwargs) + np.float32(1e-6)

    wrong.__name__ = name
    monkeypatch.setattr(pymluops, name, wrong)
    assert cli.main(["demo", str(tmp_path / "picture.png")]) == 1
    shown = capsys.readouterr().out
    assert re.search(rf"{name} +WRONG", shown)
    assert "1 results WRONG" in shown


def test_demo_has_a_glyph_for_each_character():
    from pymluops import demo
    from pymluops.demo import _font

    for scene in demo._scenes():
        captions = [picture.caption + picture.sign for picture in scene.pictures]
        names = [outcome.name + outcome.error for outcome in scene.outcomes]
        for text in (scene.title, *scene.text, *captions, *names):
            assert set(text) <= {*_font._STROKES, " "}, text
