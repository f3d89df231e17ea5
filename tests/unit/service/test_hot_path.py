# SPDX-License-Identifier: Apache-2.0
"""A monitor with a good pid file: what it loads, and what it reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ocf_agents
from ocf_agents.ocf.deadline import Deadline

from .conftest import Workshop

ROOT = str(Path(ocf_agents.__file__).parents[1])
MONITOR = """\
import os, sys
bare = set(sys.modules)
sys.path.insert(0, {root!r})
from ocf_agents.ocf import agent, deadline, parameters
from ocf_agents.service.command import Command
from ocf_agents.service.process import ProcessSupervisor
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event in ("open", "os.listdir") else None)
supervisor = ProcessSupervisor(Command({binary!r}), {pid!r}, run_dir={run_dir!r})
status = supervisor.status()
print(status.state, status.process.pid)
print(*opened)
print(*sorted(set(sys.modules) - bare))
"""


def test_a_monitor_reads_four_files_and_loads_nothing_heavy(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    process = supervisor.start(Deadline(20), 0.05)
    code = MONITOR.format(
        root=ROOT, binary=supervisor.command.binary, pid=supervisor.pid_path, run_dir=supervisor.run_dir
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=20, check=True
    )
    said, opened, loaded = done.stdout.splitlines()
    assert said == f"running {process.pid}"
    proc = f"/proc/{process.pid}"
    boot = "/proc/sys/kernel/random/boot_id"
    assert opened.split() == [supervisor.pid_path, boot, f"{proc}/stat", f"{proc}/cmdline"]
    foreign = {name for name in loaded.split() if name.split(".")[0] != "ocf_agents"}
    assert foreign <= {"__future__"}
    assert not any(name.endswith(("process_start", "process_stop", "metadata")) for name in loaded.split())
