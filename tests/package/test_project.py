# SPDX-License-Identifier: Apache-2.0
"""What a repository says about itself beside the code: citation, security, forms, workflow."""

import re
import tomllib
from pathlib import Path

import pymluops

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
URLS = PROJECT["urls"]


def read(name: str) -> str:
    return (ROOT / name).read_text()


def test_the_citation_is_of_this_version() -> None:
    lines = read("CITATION.cff").splitlines()
    assert f"version: {pymluops.__version__}" in lines
    assert f"license: {PROJECT['license']}" in lines
    assert f"repository-code: {URLS['Repository']}" in lines
    assert f"  - name: {PROJECT['authors'][0]['name']}" in lines


def test_every_extra_is_in_the_documentation() -> None:
    """Those of users in docs/install.md, those of developers beside the commands."""
    told = set(re.findall(r"^\| `\.\[(\w+)\]` \|", read("docs/install.md"), re.MULTILINE))
    assert told | {"dev", "models", "test-mmcv"} == set(PROJECT["optional-dependencies"])


def test_addresses_of_the_project_are_the_same_everywhere() -> None:
    for name in ("SECURITY.md", ".github/ISSUE_TEMPLATE/config.yml"):
        assert f"{URLS['Repository']}/security/advisories/new" in read(name)
    for url in URLS.values():
        assert url.startswith(URLS["Repository"])
        inside = re.search(r"/(?:blob|tree)/main/(.+)", url)
        assert inside is None or (ROOT / inside[1]).exists()


def test_the_workflow_runs_what_is_here() -> None:
    workflow = read(".github/workflows/ci.yml")
    commands = re.findall(r"^ +- run: (\S+)", workflow, re.MULTILINE)
    assert ".ci/run" in commands
    assert "packaging/wheel.sh" in commands
    pythons = re.search(r'python: \[((?:"[\d.]+",? ?)+)\]', workflow)
    assert pythons is not None
    for version in re.findall(r"[\d.]+", pythons[1]):
        assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]


def test_tools_of_the_wheel_are_fixed_by_hash() -> None:
    """Each has a version and hashes; those that pyproject.toml builds with are among them."""
    entries = re.findall(
        r"^([\w-]+)==\S+(?: ; .*?)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
        text := read("packaging/requirements.txt"),
        re.MULTILINE,
    )
    names = [name for name, _ in entries]
    assert names == re.findall(r"^([\w-]+)", text, re.MULTILINE)
    build = tomllib.loads(read("pyproject.toml"))["build-system"]["requires"]
    asked = re.findall(r"^[\w-]+", read("packaging/requirements.in"), re.MULTILINE)
    assert {re.match(r"[\w-]+", name)[0] for name in build} <= set(asked) <= set(names)
    assert "://" not in text
