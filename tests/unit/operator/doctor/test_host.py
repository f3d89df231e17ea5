# SPDX-License-Identifier: Apache-2.0
"""What this host has that would bite."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ocf_agents.agents.nova_compute import AGENT, SERVICE
from ocf_agents.guard.record import Record, encode
from ocf_agents.guard.row import Row
from ocf_agents.guard.store import machine_id
from ocf_agents.openstack.cloud import CloudSettings
from ocf_agents.operator import installed
from ocf_agents.operator.cib import Configured, Operation
from ocf_agents.operator.doctor import host
from ocf_agents.operator.doctor.finding import OK, PROBLEM, WARNING, Finding
from ocf_agents.operator.resource import Resource
from tests.unit.operator.test_forecast import RECORD, look

ROOT = Path(__file__).parents[4]


def resource(state_dir: Path, *levels: int) -> Resource:
    operations = tuple(Operation("monitor", 10 + level, 60, level) for level in levels)
    configured = Configured("nc", "ocf", "heartbeat", "nova-compute", operations=operations)
    return Resource("nc", AGENT, SERVICE, {"state_dir": str(state_dir)}, "", configured)


def state(path: Path) -> list[tuple[str, str]]:
    return [(one.level, one.what) for one in host.of_state_dir(resource(path))]


def test_a_directory_that_is_not_there_yet_is_well(tmp_path: Path) -> None:
    assert state(tmp_path / "none") == [(OK, "state_dir")]


def test_a_directory_that_others_may_write_to_is_refused_as_the_agent_does(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.mkdir()
    path.chmod(0o777)
    (found,) = host.of_state_dir(resource(path))
    assert found.level == PROBLEM
    assert "chmod 0700" in found.mend


def test_a_directory_in_memory_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    monkeypatch.setattr(host, "_file_system", lambda path: "tmpfs")
    assert (PROBLEM, "state_dir") in state(path)


LOOK = """
from pathlib import Path
from tests.unit.operator.doctor.test_host import host, resource
for one in host.of_state_dir(resource(Path(sys.argv[1]))):
    print(one.text)
"""


@pytest.mark.parametrize(
    ("options", "told"),
    [("ro", "is read-only"), ("size=64k", "is full"), ("nr_inodes=1", "has no inodes left"), ("rw", "")],
)
def test_a_directory_in_which_nothing_can_be_written(tmp_path: Path, options: str, told: str) -> None:
    mount = f'mount -t tmpfs -o mode=700,{options} none "$1" && exec "$2" -c "$3" "$1"'
    words = ["sh", "-c", mount, "sh", str(tmp_path), sys.executable, f"import sys\n{LOOK}"]
    space = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount"]
    done = subprocess.run([*space, *words], capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done
    found = [line for line in done.stdout.splitlines() if line.endswith(": each start fails")]
    assert len(found) == (1 if told else 0)
    assert not told or told in found[0]


def test_a_directory_of_roots_is_well_for_whoever_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert (PROBLEM, "state_dir") not in state(Path("/usr"))


def test_a_file_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    assert state(tmp_path / "state") == [(PROBLEM, "state_dir")]


def test_a_record_that_was_set_aside_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    (path / "nc.json.bad-20261130T112323Z-abc123").write_text("")
    assert (WARNING, "record") in state(path)


@pytest.mark.parametrize(("mode", "expected"), [(0o600, OK), (0o640, OK), (0o644, WARNING), (0o660, WARNING)])
def test_who_can_read_the_secret(tmp_path: Path, mode: int, expected: str) -> None:
    path = tmp_path / "clouds.yaml"
    path.write_text("clouds: {}")
    path.chmod(mode)
    found = list(host.of_clouds_file(CloudSettings(cloud="ha", clouds_file=str(path))))
    assert [one.level for one in found] == [expected]


def test_a_key_that_is_a_slip_is_told(tmp_path: Path) -> None:
    path = tmp_path / "clouds.yaml"
    path.write_text("clouds: {ha: {regoin_name: A}}")
    path.chmod(0o600)
    found = list(host.of_clouds_file(CloudSettings(cloud="ha", clouds_file=str(path))))
    assert [(one.level, one.what) for one in found] == [(OK, "secret"), (WARNING, "clouds.yaml")]
    assert found[1].text == f"regoin_name of cloud 'ha' is read by nobody: region_name is ({path})"


def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interpreter: str = sys.executable) -> Path:
    folder = tmp_path / "resource.d" / "heartbeat"
    folder.mkdir(parents=True)
    agent = folder / "nova-compute"
    agent.write_text(f"#!{interpreter} -IS\nfrom ocf_agents.agents.nova_compute import AGENT\n")
    monkeypatch.setenv(installed.VARIABLE, str(tmp_path))
    return agent


def installation(one: Resource) -> list[Finding]:
    return list(host.of_installation(one))


def test_an_agent_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(installed.VARIABLE, str(tmp_path))
    assert [(one.level, one.what) for one in installation(resource(tmp_path))] == [(PROBLEM, "agent")]


def test_an_agent_with_its_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = install(tmp_path, monkeypatch)
    assert installed.of_agent("nova-compute") == [("heartbeat", str(agent), os.path.realpath(agent))]
    assert [(one.level, one.what) for one in installation(resource(tmp_path))] == [(OK, "agent")]


def test_amqp_is_missed_where_a_deep_monitor_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch)
    monkeypatch.setattr(
        installed, "missing", lambda path, modules: [name for name in modules if name == "amqp"]
    )
    assert [one.level for one in installation(resource(tmp_path, 0))] == [OK]
    (found,) = installation(resource(tmp_path, 0, 10))
    assert (found.level, "python3-amqp" in found.mend) == (PROBLEM, True)


def test_the_agents_own_interpreter_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = install(tmp_path, monkeypatch)
    assert installed.missing(str(agent), ["os", "no_such_module"]) == ["no_such_module"]


@pytest.mark.parametrize("first", ["/no/such/python", "/bin/false"])
def test_an_interpreter_that_does_not_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    install(tmp_path, monkeypatch, first)
    (found,) = installation(resource(tmp_path))
    assert (found.level, first in found.text) == (PROBLEM, True)


def test_evacuators_that_run_here() -> None:
    class Table:
        def pids(self) -> list[int]:
            return [1, 2, 3, 4, 5]

        def argv(self, pid: int) -> tuple[str, ...]:
            return {
                1: ("/usr/bin/python3", "/usr/bin/masakari-hostmonitor"),
                2: ("vi", "instanceha.txt"),
                3: (),
                4: ("/usr/bin/python3", "-u", "/var/lib/instanceha/instanceha.py"),
                5: ("/usr/bin/python3", "-tt", "/usr/bin/other", "fence_compute"),
            }[pid]

    found = list(host.of_programs(Table()))  # type: ignore[arg-type]
    assert [one.text.split()[0] for one in found] == ["Masakari", "instanceha"]


ENABLED_ROW = Row("id", False, None, False)


def now(*args: object, **more: object) -> list[str]:
    found = host.of_look(look(*args, **more))  # type: ignore[arg-type]
    return [f"{one.text} -> {one.mend}" for one in found if (one.level, one.what) == (PROBLEM, "now")]


@pytest.mark.parametrize("up", [True, False, None])
def test_a_disable_that_was_given_up_is_a_problem(up: bool | None) -> None:
    (told,) = now(replace(ENABLED_ROW, up=up))
    assert "no helper is at work any more, and the row is still enabled" in told
    assert "ocf-agents hold nc --reason" in told


def test_a_row_that_is_enabled_rightly_is_none() -> None:
    assert now(ENABLED_ROW, is_helped=True) == []
    assert now(ENABLED_ROW, running=True) == []
    assert now(ENABLED_ROW, disable_on_stop=False) == []
    assert now(ENABLED_ROW, replace(RECORD, want="enabled")) == []
    assert now(replace(ENABLED_ROW, up=True), moves=True) == []


def test_a_disable_that_a_removed_resource_has_left_is_told() -> None:
    (found,) = host.of_remains(look())
    assert (found.level, "nobody enables it any more" in found.text) == (PROBLEM, True)
    assert "openstack compute service set --enable cmp-7 nova-compute" in found.mend
    assert [one.level for one in host.of_remains(look(ENABLED_ROW))] == [OK]


@pytest.mark.parametrize(
    ("instance", "machine", "of", "why"),
    [
        ("nc", "", "pkg1", "it is of host 'pkg1'"),
        ("nc", "4711", "pkg1", "it is of another machine, '4711', and of host 'pkg1'"),
        ("other", "", "pkg1", "it is of resource 'other'"),
        ("nc", "", "cmp-7", "it could not be used"),
    ],
)
def test_whose_record_was_set_aside_is_told(
    tmp_path: Path, instance: str, machine: str, of: str, why: str
) -> None:
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    known = Record(1, "nc", machine_id(), "cmp-7", generation=3)
    (path / "nc.json").write_text(encode(known))
    bad = replace(known, resource=instance, machine_id=machine or machine_id(), host=of)
    (path / "nc.json.bad-20261130T112323Z-abc123").write_text(encode(bad))
    (found,) = [one for one in host.of_state_dir(resource(path)) if one.what == "record"]
    assert found.text.endswith(f"was set aside: {why}")


def test_a_record_of_this_host_that_was_set_aside_could_not_be_used(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    one = replace(resource(path), parameters={"state_dir": str(path), "host": "cmp-7"})
    bad = encode(Record(1, "nc", machine_id(), "cmp-7", generation=3))
    (path / "nc.json.bad-20261130T112323Z-abc123").write_text(bad)
    (found,) = [one for one in host.of_state_dir(one) if one.what == "record"]
    assert found.text.endswith("it could not be used")
