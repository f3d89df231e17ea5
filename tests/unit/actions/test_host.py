# SPDX-License-Identifier: Apache-2.0
"""The guard's ports on this host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ocf_agents

ROOT = str(Path(ocf_agents.__file__).parents[1])
SPAWN = f"""\
import gc, sys
sys.path.insert(0, {ROOT!r})
from ocf_agents.actions.host import HelperSpawner, HostProcesses, helper_environment
from ocf_agents.guard.ports import Errand
spawner = HelperSpawner("ocf_agents.agents.no_such_agent", {{}}, helper_environment({{}}))
helper = spawner.spawn(Errand("disabled", 1, 1.0), is_held=True)
process = helper.process
assert HostProcesses().is_alive(process)
print(process.pid)
"""
ENDS = {
    "released": "helper.release()\n",
    "forgotten": "del helper\n",
    "kept until the end": "",
    "ended": "HostProcesses().end([process], 5)\n",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_helper_that_goes_on_alone_leaves_no_warning_behind(end: str) -> None:
    """As `python -W error` shows it: a process or a socket that nobody minds any more."""
    code = SPAWN + ENDS[end] + "gc.collect()\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().isdigit()


def test_a_helper_that_cannot_be_started_leaves_no_warning_behind() -> None:
    code = SPAWN.replace("helper = ", "sys.executable = '/no/such/python'\nhelper = ")
    code = code.replace(
        "import gc, sys", "import gc, sys\nsys.excepthook = lambda kind, *_: print(kind.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("FileNotFoundError\n", "")
