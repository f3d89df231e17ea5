# SPDX-License-Identifier: Apache-2.0
"""A monitor with a good pid file: what it loads, and what it reads; of a process, and of a unit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ocf_agents
from ocf_agents.ocf.deadline import Deadline
from ocf_agents.service.command import Command
from ocf_agents.service.systemd import SystemdSupervisor, UnitProcesses
from tests.fake_systemd import FakeSystemd

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


UNIT_MONITOR = """\
import os, sys
bare = set(sys.modules)
sys.path.insert(0, {root!r})
from ocf_agents.ocf import agent, parameters
from ocf_agents.ocf.deadline import Deadline
from ocf_agents.service.command import Command
from ocf_agents.service.systemd import SystemdSupervisor, UnitProcesses
from ocf_agents.service.unit import Units
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event in ("open", "os.listdir") else None)
units = Units({units!r}, ("/nonexistent",))
processes = UnitProcesses({unit!r}, Command({binary!r}, None), {pid!r}, run_dir={run_dir!r}, instance="fake")
status = SystemdSupervisor(units.find([{unit!r}]), processes, Deadline(20), units=units).status()
print(status.state, status.process.pid)
print(*opened)
print(*sorted(set(sys.modules) - bare))
"""


def test_a_monitor_of_a_unit_costs_no_more(workshop: Workshop) -> None:
    """systemd is not asked: what it leaves in files is enough."""
    unit, binary = "nova-fake.service", workshop.script("nova-fake")
    systemd = FakeSystemd(workshop.directory)
    systemd.add(unit, binary)
    pid, run_dir = str(workshop.run_dir / "daemon.pid"), str(workshop.run_dir)
    processes = UnitProcesses(unit, Command(binary, None), pid, run_dir=run_dir, instance="fake")
    supervisor = SystemdSupervisor(unit, processes, Deadline(20), units=systemd.units)
    process = supervisor.start(Deadline(20), 0.05)
    code = UNIT_MONITOR.format(
        root=ROOT, units=str(systemd.root), unit=unit, binary=binary, pid=pid, run_dir=run_dir
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=20, check=True
    )
    said, opened, loaded = done.stdout.splitlines()
    assert said == f"running {process.pid}"
    proc = f"/proc/{process.pid}"
    assert opened.split() == [pid, "/proc/sys/kernel/random/boot_id", f"{proc}/stat", f"{proc}/cmdline"]
    foreign = {name for name in loaded.split() if name.split(".")[0] != "ocf_agents"}
    assert foreign <= {"__future__"}
    assert not any(name.endswith(("systemctl", "drop_in", "systemd_start")) for name in loaded.split())
