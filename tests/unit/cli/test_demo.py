# SPDX-License-Identifier: Apache-2.0
"""The demo as a command: from an installed package too, and where something is missing it says what."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The site-packages of an environment that has the package as a wheel installs it: without heartbeat/."""
    place = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=120)
    (site,) = place.glob("lib/python3*/site-packages")
    shutil.copytree(ROOT / "ocf_agents", site / "ocf_agents", ignore=shutil.ignore_patterns("__pycache__"))
    return site


def run(site: Path) -> subprocess.CompletedProcess[str]:
    """The command as its entry point runs it, in that environment."""
    python = site.parents[2] / "bin" / "python"
    (site.parents[2] / "tmp").mkdir()
    return subprocess.run(
        [python, "-I", "-c", "from ocf_agents.cli.main import main; main()", "demo"],
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(site.parents[2] / "tmp")},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def borrow(site: Path, *but: str) -> None:
    """The libraries of this interpreter, but those whose names begin so."""
    places = [Path(path) for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    for place in filter(Path.exists, places):
        for path in place.iterdir():
            is_wanted = path.name not in ("ocf_agents", "__pycache__") and not path.name.startswith(
                but or ("-",)
            )
            if is_wanted and path.suffix != ".pth" and not (site / path.name).exists():
                os.symlink(path, site / path.name)


def test_the_story_is_told_from_an_installed_package(site: Path) -> None:
    borrow(site)
    done = run(site)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("Nothing is left behind.")
    assert list((site.parents[2] / "tmp").iterdir()) == []


def test_a_missing_library_is_named_with_its_package(site: Path) -> None:
    borrow(site, "openstack", "filelock")
    done = run(site)
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("ocf-agents: install python3-openstacksdk python3-filelock for ")
