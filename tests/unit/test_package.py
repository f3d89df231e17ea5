# SPDX-License-Identifier: Apache-2.0
"""The distribution: what pip makes of the source tree holds the whole package."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ocf_agents import __version__

ROOT = Path(__file__).parents[2]
NEEDED = ("pip", "setuptools", "wheel")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: building writes into the source tree. Asks no index for anything."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed here: {', '.join(missing)}")
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "ocf_agents", copy / "ocf_agents", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*command, "--no-build-isolation", "--wheel-dir", str(out), str(copy)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_every_module_and_the_marker_of_its_types(wheel: Path) -> None:
    expected = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "ocf_agents").rglob("*")
        if path.suffix == ".py" or path.name == "py.typed" or path.parent.name == "templates"
    }
    assert "ocf_agents/py.typed" in expected
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if name.startswith("ocf_agents/")}
    assert found == expected


def test_the_wheel_names_its_version_its_licence_and_its_needs(wheel: Path) -> None:
    assert __version__ in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
        assert any(name.endswith("LICENSE") for name in archive.namelist())
    assert "Requires-Python: >=3.9" in metadata
    for library in ("openstacksdk", "filelock", "click"):
        assert f"Requires-Dist: {library}" in metadata
