# SPDX-License-Identifier: Apache-2.0
"""An interpreter that was started without other people's libraries, and what makes up for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ocf_agents

ROOT = Path(ocf_agents.__file__).parents[1]
AGENT = """\
import sys
sys.path.insert(0, {root!r})
from ocf_agents.ocf.agent import Action, Agent

def look(call):
    try:
        import filelock
    except ImportError:
        print("alone")
    else:
        print("with libraries")

actions = [Action(name, look, 20) for name in ("start", "monitor", "validate-all")]
Agent("x", "1", "s", "l", [], actions).main()
"""


def run(action: str, *options: str, **environ: str) -> str:
    command = [sys.executable, *options, "-c", AGENT.format(root=str(ROOT)), action]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=20, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("action", ["start", "validate-all"])
def test_an_action_that_may_need_libraries_finds_them(action: str) -> None:
    assert run(action, "-I", "-S") == "with libraries"
    assert run(action, "-I") == "with libraries"


def test_a_monitor_at_level_0_does_without() -> None:
    assert run("monitor", "-I", "-S") == "alone"
    assert run("monitor", "-I") == "with libraries", "the interpreter's start had them already"


def test_a_deeper_monitor_finds_them() -> None:
    assert run("monitor", "-I", "-S", OCF_CHECK_LEVEL="10") == "with libraries"


def test_an_isolated_interpreter_stays_isolated(tmp_path: Path) -> None:
    (tmp_path / "filelock.py").write_text("raise SystemExit('planted')\n")
    assert run("start", "-I", "-S", PYTHONPATH=str(tmp_path)) == "with libraries"
