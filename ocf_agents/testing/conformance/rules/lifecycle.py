# SPDX-License-Identifier: Apache-2.0
"""start, monitor and stop: what they return, and whether it is true."""

from __future__ import annotations

import signal

from ocf_agents.testing.conformance.rule import Failed, Group, NotApplicable, ended, expect, said
from ocf_agents.testing.conformance.runner import Process
from ocf_agents.testing.conformance.subject import Subject

GROUP = Group("lifecycle")
MONITORS = 5
IDLE_SECONDS = 1.0
"""How long a process that a monitor began may take to end by itself."""
ODD_LEVELS = ("", "15", "10s", "deep", "-1")


@GROUP.rule(
    "monitor-stopped", "A monitor of a stopped resource returns 7", "OCF 1.1, Exit status codes; ocf-tester"
)
def check_monitor_stopped(subject: Subject) -> None:
    subject.stop_somehow()
    expect(subject.monitor(), "a monitor of the stopped resource", [7])


@GROUP.rule("probe-stopped", "A probe of a stopped resource returns 7", "Pacemaker, ocf-tester; case 76")
def check_probe_stopped(subject: Subject) -> None:
    subject.ensure_stopped()
    expect(subject.probe(), "a probe of the stopped resource", [7])


@GROUP.rule(
    "probe-quiet",
    "A probe that finds nothing is silent",
    "Pacemaker probes each resource on each node, and logs what is on stderr; case 76",
)
def check_probe_quiet(subject: Subject) -> None:
    subject.ensure_stopped()
    ran = subject.probe()
    if ran.stderr.strip():
        raise Failed(f"a probe of the stopped resource writes to stderr:{said(ran)}")


@GROUP.rule("start", "start returns 0", "OCF 1.1, Resource Agent actions; ocf-tester")
def check_start(subject: Subject) -> None:
    subject.ensure_stopped()
    expect(subject.run("start"), "start")


@GROUP.rule(
    "restart", "After a stop it starts again", "OCF 1.1, stop: it must be possible to start it; ocf-tester"
)
def check_restart(subject: Subject) -> None:
    subject.ensure_started()
    subject.ensure_stopped()
    expect(subject.run("start"), "start after a stop")
    expect(subject.monitor(), "a monitor after the second start")


@GROUP.rule(
    "start-complete",
    "When start has returned 0, a monitor returns 0 at once",
    "OCF 1.1, start: not before the resource has been fully started; ocf-tester",
)
def check_start_complete(subject: Subject) -> None:
    subject.ensure_stopped()
    ran = subject.run("start")
    if ran.code != 0:
        raise NotApplicable(f"start {ended(ran)}")
    expect(subject.monitor(), "a monitor right after start")


@GROUP.rule("probe-started", "A probe of a running resource returns 0", "Pacemaker; ocf-tester")
def check_probe_started(subject: Subject) -> None:
    subject.ensure_started()
    expect(subject.probe(), "a probe of the running resource")


@GROUP.rule(
    "start-started",
    "start of a running resource returns 0, and starts nothing more",
    "OCF 1.1, start: must succeed if the resource is already running; ocf-tester",
)
def check_start_started(subject: Subject) -> None:
    subject.ensure_started()
    before = subject.processes()
    expect(subject.run("start"), "start of the running resource")
    more = subject.settle(before)
    if more:
        raise Failed(f"start of the running resource began another {more[0]}; expected: nothing")
    expect(subject.monitor(), "a monitor after a second start")


@GROUP.rule(
    "check-levels",
    "A monitor of each advertised level returns 0; an odd OCF_CHECK_LEVEL is taken as a lower one",
    "OCF 1.1, Parameters specific to the monitor action; case 100",
)
def check_check_levels(subject: Subject) -> None:
    subject.ensure_started()
    advertised = {one.depth for one in subject.document.actions if one.name == "monitor" and one.depth}
    for level in (*sorted(advertised), *ODD_LEVELS):
        expect(subject.monitor(OCF_CHECK_LEVEL=level), f"a monitor with OCF_CHECK_LEVEL={level!r}")


@GROUP.rule(
    "stopped-levels",
    "A monitor of a stopped resource returns 7 at each advertised level",
    "OCF 1.1, Exit status codes: what is cleanly stopped has not failed",
)
def check_stopped_levels(subject: Subject) -> None:
    levels = sorted({one.depth for one in subject.document.actions if one.name == "monitor" and one.depth})
    if not any(level != "0" for level in levels):
        raise NotApplicable("no monitor of another level than 0 is advertised")
    subject.ensure_stopped()
    for level in levels:
        expect(
            subject.monitor(OCF_CHECK_LEVEL=level), f"a monitor of level {level} of the stopped resource", [7]
        )


@GROUP.rule(
    "log",
    "Monitors of one state write one line at most to the log, however many there are",
    "a monitor runs every few seconds, for years; case 116",
    strict=True,
)
def check_log(subject: Subject) -> None:
    subject.ensure_started()
    subject.monitor()
    before = len(subject.places.logged().splitlines())
    for _ in range(MONITORS):
        subject.monitor()
    lines = len(subject.places.logged().splitlines()) - before
    if lines > 1:
        raise Failed(f"{MONITORS} monitors wrote {lines} lines to the log; expected: 1 at most")


@GROUP.rule("stop", "stop of a running resource returns 0", "OCF 1.1, Exit status codes: never 7; ocf-tester")
def check_stop(subject: Subject) -> None:
    subject.ensure_started()
    expect(subject.run("stop"), "stop of the running resource")


@GROUP.rule(
    "stop-complete",
    "When stop has returned 0, a monitor returns 7, and no process of the resource lives",
    "OCF 1.1, stop: no component of the resource shall remain active; ocf-tester; case 31",
)
def check_stop_complete(subject: Subject) -> None:
    subject.ensure_started()
    before = subject.processes()
    ran = subject.run("stop")
    if ran.code != 0:
        raise NotApplicable(f"stop {ended(ran)}")
    complain_of(subject.outlives(before), "stop has returned 0")
    expect(subject.monitor(), "a monitor right after stop", [7])


def complain_of(left: list[Process], when: str) -> None:
    if left:
        raise Failed(f"{when}, and {left[0]} lives; expected: none")


@GROUP.rule(
    "stop-stopped",
    "stop of a stopped resource returns 0",
    "OCF 1.1, stop: must succeed if the resource is already stopped; ocf-tester; case 33",
)
def check_stop_stopped(subject: Subject) -> None:
    subject.ensure_stopped()
    expect(subject.run("stop"), "stop of the stopped resource")
    expect(subject.monitor(), "a monitor after a second stop", [7])


@GROUP.rule(
    "crash",
    "When the resource's processes are killed, a monitor returns neither 0 nor a code of a running one",
    "OCF 1.1, Exit status codes: 1, or 7 if that is as clean as a stop; cases 80 and 84",
)
def check_crash(subject: Subject) -> None:
    subject.ensure_started()
    kill_daemons(subject)
    expect(subject.monitor(), "a monitor of a resource whose processes were killed", [1, 7])


@GROUP.rule(
    "crash-stop",
    "stop of a crashed resource returns 0, and it starts again",
    "Pacemaker's recovery is stop and start, and a stop that fails means fencing; cases 72 and 73",
)
def check_crash_stop(subject: Subject) -> None:
    subject.ensure_started()
    kill_daemons(subject)
    expect(subject.run("stop"), "stop of the crashed resource")
    expect(subject.monitor(), "a monitor after that stop", [7])
    expect(subject.run("start"), "start after that stop")


@GROUP.rule(
    "idle-monitor",
    "A monitor changes nothing: of a resource that runs, that is stopped, or whose processes were killed",
    "OCF 1.1, monitor: it checks the state; the recovery is Pacemaker's, which counts failures",
)
def check_idle_monitor(subject: Subject) -> None:
    subject.ensure_stopped()
    monitor_idly(subject, "the stopped resource")
    subject.ensure_started()
    monitor_idly(subject, "the running resource")
    if not subject.daemons():
        return
    kill_daemons(subject)
    monitor_idly(subject, "a resource whose processes were killed")


def monitor_idly(subject: Subject, what: str) -> None:
    """A probe and a recurring monitor; then nothing lives but what lived before, and all of that."""
    for name, monitor in (("probe", subject.probe), ("monitor", subject.monitor)):
        before = subject.processes()
        monitor()
        more = subject.settle(before, IDLE_SECONDS)
        if more:
            raise Failed(f"a {name} of {what} began {more[0]}; expected: nothing")
        if not lost(subject, before):
            continue
        before = subject.processes()  # something may have ended by itself just then
        monitor()
        ended_now = lost(subject, before)
        if ended_now:
            raise Failed(f"a {name} of {what} ended process {min(ended_now)} of it; expected: it lives on")


def lost(subject: Subject, before: list[Process]) -> set[int]:
    """The daemons of `before` that live no more."""
    return {one.pid for one in before if one.is_root} - {one.pid for one in subject.processes()}


def kill_daemons(subject: Subject) -> None:
    """SIGKILL to all that start left, which is something, or NotApplicable is raised."""
    if not subject.daemons():
        raise NotApplicable("start leaves no process of its own")
    subject.runner.signal([one.pid for one in subject.processes()], signal.SIGKILL)
    subject.settle()
