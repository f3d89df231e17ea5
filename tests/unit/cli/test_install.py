# SPDX-License-Identifier: Apache-2.0
"""The agents where Pacemaker looks for them, without a package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ocf_agents

ROOT = Path(ocf_agents.__file__).parents[1]


@pytest.fixture
def interpreter(tmp_path: Path) -> str:
    """One that finds this package when it is isolated, as after an installation."""
    place = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=120)
    (site,) = place.glob("lib/python3*/site-packages")
    (site / "here.pth").write_text(f"{ROOT}\n")
    return str(place / "bin" / "python")


def run(*words: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "ocf_agents.cli.main", "install", *words]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_agent_runs_from_where_it_was_installed_and_goes_again(tmp_path: Path, interpreter: str) -> None:
    where = ("--ocf-root", str(tmp_path / "ocf"), "--provider", "mine")
    path = tmp_path / "ocf/resource.d/mine/nova-compute"
    assert f"{path}: runs with {interpreter}" in run(*where, "--interpreter", interpreter)
    shown = subprocess.run(
        [path, "meta-data"], env={}, capture_output=True, text=True, timeout=60, check=True
    )
    assert '<resource-agent name="nova-compute"' in shown.stdout
    again = json.loads(run(*where, "--remove", "--json"))
    assert again == {"agents": [{"agent": "nova-compute", "removed": True}]}
    assert not path.exists()
    assert "was not there" in run(*where, "--remove")


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path, interpreter: str) -> None:
    path = tmp_path / "resource.d/heartbeat/nova-compute"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    where = ("--ocf-root", str(tmp_path), "--interpreter", interpreter)
    assert "was not written by ocf-agents" in run(*where, code=6)
    assert "was not written by ocf-agents" in run(*where, "--remove", code=6)
    assert path.read_text() == "#!/bin/sh\n"


def test_an_interpreter_without_the_package_is_refused(tmp_path: Path) -> None:
    said = run("--ocf-root", str(tmp_path), "--interpreter", "/nowhere/python3", code=6)
    assert "/nowhere/python3" in said
    assert not (tmp_path / "resource.d").exists()
