# SPDX-License-Identifier: Apache-2.0
"""A new agent, to begin with."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ocf_agents
from ocf_agents.cli.new import MODELS, CannotWrite, has_package, write
from tests.unit.testing.test_pytest_plugin import is_installed

ROOT = Path(ocf_agents.__file__).parents[1]


@pytest.mark.parametrize("model", MODELS)
def test_it_writes_an_agent_and_a_test_that_passes(model: str, tmp_path: Path) -> None:
    agent, test = write("my-daemon", tmp_path, model=model)
    assert (agent.name, test.name) == ("my-daemon", "test_my_daemon.py")
    assert os.access(agent, os.X_OK)
    assert MODELS[model] not in agent.read_text() + test.read_text()

    assert agent.read_text().startswith(f"#!{sys.executable} -I\n")
    agent.write_text(
        agent.read_text().replace(
            f"#!{sys.executable} -I\n", f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        )
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(test),
    ]
    command += [] if is_installed() else ["-p", "ocf_agents.testing.pytest_plugin"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "OCF_AGENTS_NO_SKIPS": "0"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 50, "a test for each rule"


@pytest.mark.parametrize("name", ["", "Beacon", "-x", "a_b", "a--b", "../a", "a\n", "9a"])
def test_a_name_that_is_none_for_an_agent_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="is no name for an agent"):
        write(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", ["lamp", "test_lamp.py"])
def test_what_is_there_is_never_overwritten(there: str, tmp_path: Path) -> None:
    (tmp_path / there).symlink_to("nowhere")
    with pytest.raises(CannotWrite, match=f"{there} is there already"):
        write("lamp", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [there]


def test_a_directory_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="no-such/lamp: No such file or directory"):
        write("lamp", tmp_path / "no-such")


def test_an_interpreter_without_the_package_is_told(tmp_path: Path) -> None:
    place = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=120)
    python = place / "bin" / "python"
    assert not has_package(str(python))
    (site,) = place.glob("lib/python3*/site-packages")
    (site / "here.pth").write_text(f"{ROOT}\n")
    assert has_package(str(python))
