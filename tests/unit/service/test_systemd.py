# SPDX-License-Identifier: Apache-2.0
"""A unit as the service, before a systemd that answers as it is told."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.ocf.deadline import Deadline
from ocf_agents.ocf.errors import BadArguments, GenericError, NotInstalled
from ocf_agents.service import drop_in, unit
from ocf_agents.service import systemd as systemd_module
from ocf_agents.service.command import Command
from ocf_agents.service.proc import ProcTable
from ocf_agents.service.supervisor import GONE, RUNNING, STOPPED, UNIT_FAILED
from ocf_agents.service.systemd import SystemdSupervisor, UnitProcesses
from tests.fake_systemd import FakeSystemd

from .conftest import SLEEP, Workshop, is_running, wait_until

UNIT = "nova-fake.service"
LOST = "Failed to connect to bus: Connection refused"


class Place:
    """A unit that runs a daemon of a workshop."""

    def __init__(self, workshop: Workshop, directory: Path) -> None:
        self.workshop = workshop
        self.systemd = FakeSystemd(directory)
        self.binary = workshop.script("nova-fake", SLEEP)
        self.systemd.add(UNIT, self.binary)
        self.notes: list[str] = []

    def supervisor(self, seconds: float = 30) -> SystemdSupervisor:
        processes = UnitProcesses(
            UNIT,
            Command(self.binary, None),
            str(self.workshop.run_dir / "daemon.pid"),
            run_dir=str(self.workshop.run_dir),
            instance="fake",
        )
        return SystemdSupervisor(UNIT, processes, Deadline(seconds), units=self.systemd.units)

    def start(self) -> int:
        pid = self.supervisor().start(Deadline(30), 0.05).pid
        self.systemd.forget_calls()
        return pid

    def stop(self, seconds: float = 30) -> None:
        supervisor = self.supervisor(seconds)
        supervisor.stop(supervisor.deadline, self.notes.append)

    def by_hand(self) -> subprocess.Popen[bytes]:
        process = self.workshop.run([self.binary], start_new_session=True)
        self.workshop.said("up")
        return process


@pytest.fixture
def place(workshop: Workshop, tmp_path: Path) -> Iterator[Place]:
    place = Place(workshop, tmp_path)
    yield place
    (place.systemd.directory / "always").unlink(missing_ok=True)


def test_a_life(place: Place) -> None:
    assert place.supervisor().status().state == GONE
    assert place.systemd.calls == [], "no run, no process: nobody need be asked"
    pid = place.start()
    assert place.systemd.drop_in(UNIT).stat().st_mode & 0o7777 == 0o644
    status = place.supervisor().status()
    assert (status.state, status.process) == (RUNNING, ProcTable().identify(pid))
    assert place.systemd.calls == [], "files tell"
    assert place.supervisor().start(Deadline(30), 0.05).pid == pid
    assert "start" not in place.systemd.calls
    assert "daemon-reload" not in place.systemd.calls
    place.systemd.forget_calls()
    place.stop()
    assert not is_running(pid)
    assert not place.systemd.drop_in(UNIT).exists()
    assert place.systemd.calls == ["show", "stop", "daemon-reload", "show"]
    assert place.notes == []
    place.stop()
    assert place.supervisor().process() is None


def test_a_drop_in_that_was_not_read_is_read(place: Place) -> None:
    """Case 145: a start was killed between the two."""
    place.start()
    place.stop()
    place.systemd.drop_in(UNIT).parent.mkdir()
    place.systemd.drop_in(UNIT).write_text(drop_in.content({}))
    place.systemd.drop_in(UNIT).chmod(0o644)
    for needed in ("no", "yes"):
        place.systemd.forget_calls()
        place.systemd.say(UNIT, ActiveState="inactive", MainPID="0", NeedDaemonReload=needed)
        place.supervisor().start(Deadline(20), 0.05)
        assert ("daemon-reload" in place.systemd.calls) is (needed == "yes")
        os.kill(place.systemd.main_pid(UNIT), signal.SIGKILL)


def test_a_run_by_another_hand_is_learnt_once(place: Place) -> None:
    place.start()
    place.systemd.run_id(UNIT, "f" * 32)
    state = (place.systemd.directory / UNIT / "state").read_text()
    pid = place.systemd.main_pid(UNIT)
    (place.systemd.directory / UNIT / "state").write_text(
        "".join(
            f"InvocationID={'f' * 32}\n" if "Invoc" in line else f"{line}\n" for line in state.splitlines()
        )
    )
    for _ in range(2):
        status = place.supervisor().status()
        assert (status.state, status.process and status.process.pid) == (RUNNING, pid)
    assert place.systemd.calls == ["show"]


def test_a_monitor_waits_for_what_the_unit_becomes(place: Place) -> None:
    """Case 141."""
    place.systemd.run_id(UNIT, "1")
    place.systemd.say_next(UNIT, "ActiveState=activating MainPID=0", "ActiveState=deactivating MainPID=0")
    assert place.supervisor().status().state == GONE
    assert place.systemd.calls == ["show"] * 3
    place.systemd.say(UNIT, ActiveState="activating", MainPID="0")
    began = time.monotonic()
    assert place.supervisor(4).status().state == GONE
    assert time.monotonic() - began < 3, "and not for ever"


def test_a_start_waits_for_a_stop_under_way(place: Place) -> None:
    """Case 141."""
    place.systemd.run_id(UNIT, "1")
    place.systemd.say_next(UNIT, *["ActiveState=deactivating MainPID=0"] * 3)
    assert is_running(place.supervisor().start(Deadline(30), 0.05).pid)


def test_reloading_is_running(place: Place) -> None:
    """Case 141."""
    pid = place.start()
    place.systemd.run_id(UNIT, "2")
    place.systemd.say(UNIT, ActiveState="reloading", MainPID=str(pid), InvocationID="2")
    assert place.supervisor().status().state == RUNNING


def test_a_failed_unit_with_a_live_process(place: Place) -> None:
    """Case 141."""
    place.by_hand()
    place.systemd.say(UNIT, ActiveState="failed", MainPID="0")
    assert place.supervisor().status().state == UNIT_FAILED
    with pytest.raises(GenericError, match="stop it first"):
        place.supervisor().start(Deadline(20), 0.05)
    place.stop()
    assert place.systemd.calls[-1] == "reset-failed"
    assert place.supervisor().status().state == GONE


def test_a_failed_unit_is_made_inactive_by_a_stop(place: Place) -> None:
    place.systemd.add("nova-fail.service", "true")
    place.start()
    place.systemd.say_next(UNIT, "ActiveState=active MainPID=0", "ActiveState=failed MainPID=0")
    place.stop()
    assert place.systemd.calls == ["show", "stop", "daemon-reload", "show", "reset-failed"]


def test_what_runs_beside_an_inactive_unit(place: Place) -> None:
    process = place.by_hand()
    status = place.supervisor().status()
    assert (status.state, status.process and status.process.pid) == (RUNNING, process.pid)
    assert place.supervisor().start(Deadline(20), 0.05).pid == process.pid, "no second one"
    place.stop()
    assert process.wait(5) == -signal.SIGTERM


def test_another_units_process_is_nobodys_here(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    process = place.by_hand()
    monkeypatch.setattr(unit, "unit_of", lambda pid: "" if pid == "self" else "other.service")
    assert place.supervisor().status().state == GONE
    place.stop()
    assert process.poll() is None


@pytest.mark.parametrize("answer", [LOST, "hang"])
def test_without_an_answer_the_process_decides(place: Place, answer: str) -> None:
    """Case 140."""
    process = place.by_hand()
    place.systemd.run_id(UNIT, "1")
    place.systemd.answer_always(answer)
    seconds = 8
    assert place.supervisor(seconds).status().state == RUNNING
    assert place.supervisor(seconds).start(Deadline(seconds), 0.05).pid == process.pid
    began = time.monotonic()
    place.stop(seconds)
    assert time.monotonic() - began < seconds + 1
    assert process.wait(5) in (-signal.SIGTERM, -signal.SIGKILL)
    assert place.notes
    assert place.supervisor(seconds).status().state == GONE
    with pytest.raises(GenericError, match="does not answer"):
        place.supervisor(seconds).start(Deadline(seconds), 0.05)


def test_what_systemd_cannot_stop_is_stopped_and_looked_at_again(place: Place) -> None:
    """Case 147."""
    pid = place.start()
    place.systemd.answer("ok", "Failed to stop: it is a secret")
    began = time.monotonic()
    place.stop()
    assert not is_running(pid)
    assert time.monotonic() - began >= 2
    assert any("a secret" in note for note in place.notes)


def test_a_stop_takes_no_longer_than_it_may(place: Place, workshop: Workshop) -> None:
    """Case 141: deactivating for 90 s; killed."""
    workshop.script("nova-fake", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEP)
    pid = place.start()
    workshop.said("up")
    began = time.monotonic()
    place.stop(6)
    assert time.monotonic() - began < 7
    assert not is_running(pid)


@pytest.mark.parametrize(
    ("load", "error", "said"),
    [
        ("masked", NotInstalled, "systemctl unmask"),
        ("not-found", NotInstalled, "does not exist"),
        ("bad-setting", BadArguments, "bad-setting"),
    ],
)
def test_what_cannot_be_started(place: Place, load: str, error: type[Exception], said: str) -> None:
    """Case 137."""
    place.systemd.say(UNIT, LoadState=load, ActiveState="inactive", MainPID="0")
    with pytest.raises(error, match=said):
        place.supervisor().start(Deadline(20), 0.05)
    assert "start" not in place.systemd.calls
    place.stop()


def test_masked_units_are_told_before_anything_is_done(place: Place) -> None:
    """Case 137."""
    place.supervisor().require_installed()
    assert place.systemd.calls == []
    place.systemd.mask(UNIT)
    with pytest.raises(NotInstalled, match="masked"):
        place.supervisor().require_installed()
    place.systemd.answer_always(LOST)
    place.supervisor().require_installed()


def test_a_start_says_why_it_failed(place: Place) -> None:
    place.systemd.answer("ok", "ok", "Job for nova-fake.service failed because it could not.")
    with pytest.raises(GenericError, match="it could not"):
        place.supervisor().start(Deadline(20), 0.05)


def test_a_daemon_that_dies_after_its_start(place: Place, workshop: Workshop) -> None:
    workshop.script("nova-fake", "sys.exit(1)\n")
    with pytest.raises(GenericError, match="died right after"):
        place.supervisor().start(Deadline(20), 0.5)


def test_a_daemon_that_a_signal_has_stopped(place: Place) -> None:
    pid = place.start()
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: place.supervisor().status().state == STOPPED)
    os.kill(pid, signal.SIGCONT)
    place.stop()


def test_a_helper_in_the_units_group_is_ended(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 139: the service's own helper is, a guest is not; neither is the service's child any more."""
    helper = place.workshop.script("privsep-helper", SLEEP)
    guest = place.workshop.script("qemu-system-x86_64", SLEEP)
    both = [place.workshop.run([path], start_new_session=True) for path in (helper, guest)]
    place.workshop.said("up", 2)
    place.start()
    monkeypatch.setattr(systemd_module, "unit_of", lambda pid: UNIT)
    place.stop()
    assert both[0].wait(5) == -signal.SIGTERM
    assert both[1].poll() is None


def test_a_drop_in_that_cannot_be_written_fails_the_start(place: Place) -> None:
    folder = place.systemd.drop_in(UNIT).parent
    folder.write_text("in the way")
    with pytest.raises(GenericError, match="cannot write"):
        place.supervisor().start(Deadline(20), 0.05)
    place.stop()


def test_where_systemd_tells_no_runs_it_is_asked(place: Place) -> None:
    """Before version 236."""
    (place.systemd.root / "run/systemd/units").rmdir()
    assert place.supervisor().status().state == GONE
    assert place.systemd.calls == ["show"]


def test_a_pid_file_that_is_none_is_left(place: Place) -> None:
    place.workshop.run_dir.mkdir()
    precious = place.workshop.run_dir / "daemon.pid"
    precious.write_text("precious\n")
    pid = place.start()
    place.systemd.forget_calls()
    status = place.supervisor().status()
    assert (status.state, status.process and status.process.pid) == (RUNNING, pid)
    assert place.systemd.calls == ["show"]
    place.stop()
    assert precious.read_text() == "precious\n"


def test_a_stop_does_not_wait_to_learn_what_the_unit_becomes(place: Place) -> None:
    """Case 142: systemd has begun to stop it; the disable is to go out while it still answers."""
    pid = place.start()
    place.systemd.run_id(UNIT, "2")
    place.systemd.say(UNIT, ActiveState="deactivating", MainPID=str(pid), InvocationID="2")
    began = time.monotonic()
    assert place.supervisor(100).status(patience=0).state == RUNNING
    assert time.monotonic() - began < 5
    assert place.systemd.calls == ["show"]
