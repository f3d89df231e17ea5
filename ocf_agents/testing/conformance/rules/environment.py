# SPDX-License-Identifier: Apache-2.0
"""Variables and directories that are odd or missing: what a cluster, a tool or a shell may give an agent."""

from __future__ import annotations

import os

from ocf_agents.testing.conformance.rule import Failed, Group, NotApplicable, expect
from ocf_agents.testing.conformance.subject import Subject

GROUP = Group("environment")
TIMEOUT = "OCF_RESKEY_CRM_meta_timeout"
ODD_TIMEOUTS = ("0", "1", "99999999999999999999", "-1", "soon", "20s", "", None)
"""Milliseconds, as Pacemaker gives them; None: none is given."""
LOCALES: tuple[dict[str, str | None], ...] = (
    {"LC_ALL": "C"},
    {"LC_ALL": "POSIX"},
    {"LC_ALL": None, "LANG": "de_DE.UTF-8"},
    {"LC_ALL": "xx_XX.no-such"},
)


def words(value: str | None) -> str:
    return "no CRM_meta_timeout" if value is None else f"CRM_meta_timeout={value!r}"


@GROUP.rule(
    "timeout-monitor",
    "An absurd or missing CRM_meta_timeout does not change what a monitor finds",
    "Pacemaker gives milliseconds, a shell gives none; cases 95 to 97",
)
def check_timeout_monitor(subject: Subject) -> None:
    subject.ensure_started()
    for value in ODD_TIMEOUTS:
        expect(subject.run("monitor", changes={TIMEOUT: value}), f"a monitor with {words(value)}")


@GROUP.rule(
    "timeout-stop",
    "stop works with an absurd or missing CRM_meta_timeout",
    "Pacemaker gives milliseconds, a shell gives none; cases 95 to 97",
)
def check_timeout_stop(subject: Subject) -> None:
    for value in ("0", "soon", None):
        subject.ensure_started()
        expect(subject.run("stop", changes={TIMEOUT: value}), f"stop with {words(value)}")
        expect(subject.monitor(), f"a monitor after stop with {words(value)}", [7])


@GROUP.rule(
    "bare",
    "It works with no variables but its own: no PATH, no HOME, no locale",
    "`env -i`: tools, and authors; OCF 1.1, Global OCF attributes; case 95",
)
def check_bare(subject: Subject) -> None:
    subject.ensure_started()
    for action, code in (("monitor", 0), ("stop", 0), ("monitor", 7)):
        ran = subject.runner.run([subject.call(action, bare(subject, action))], subject.timeout(action))[0]
        expect(ran, f"{action} under `env -i` with the OCF_ variables alone", [code])


def bare(subject: Subject, action: str) -> dict[str, str]:
    """OCF_ROOT, the resource's name and parameters; and where its files are, which must not move."""
    places = subject.places.environ()
    return {
        name: value
        for name, value in subject.environ(action).items()
        if name in ("OCF_ROOT", "OCF_RESOURCE_INSTANCE", *places)
        or (name.startswith("OCF_RESKEY_") and "CRM_meta" not in name and "crm_feature" not in name)
    }


@GROUP.rule(
    "no-rsctmp",
    "Without HA_RSCTMP it finds a directory of its own",
    "Pacemaker does not promise it; case 103",
)
def check_no_rsctmp(subject: Subject) -> None:
    if os.geteuid() != 0:
        raise NotApplicable("only root may write to the cluster's own directory")
    subject.ensure_stopped()
    before = subject.processes()
    changes: dict[str, str | None] = {"HA_RSCTMP": None}
    try:
        for action, code in (("monitor", 7), ("start", 0), ("monitor", 0)):
            expect(subject.run(action, changes=changes), f"{action} without HA_RSCTMP", [code])
    finally:
        ran = subject.run("stop", changes=changes)
    expect(ran, "stop without HA_RSCTMP")
    left = subject.settle(before)
    if left:
        raise Failed(f"after stop without HA_RSCTMP {left[0]} lives; expected: none")


@GROUP.rule(
    "missing-rsctmp",
    "If the directory of HA_RSCTMP is missing, a probe returns 7 and a stop 0",
    "it is gone after a reboot; case 103",
)
def check_missing_rsctmp(subject: Subject) -> None:
    subject.ensure_stopped()
    changes: dict[str, str | None] = {"HA_RSCTMP": str(subject.places.root / "missing" / "below")}
    expect(
        subject.run("monitor", changes=changes, probe=True), "a probe without the directory of HA_RSCTMP", [7]
    )
    expect(subject.run("stop", changes=changes), "stop without the directory of HA_RSCTMP")


@GROUP.rule(
    "no-binaries",
    "Where its programs are not installed, a probe returns 7 or 5",
    "ocf-tester: OCF_TESTER_FAIL_HAVE_BINARY, which resource-agents' have_binary obeys; case 76",
)
def check_no_binaries(subject: Subject) -> None:
    subject.ensure_stopped()
    ran = subject.probe(OCF_TESTER_FAIL_HAVE_BINARY="1")
    expect(ran, "a probe with no program installed", [5, 7])


@GROUP.rule(
    "locale", "A monitor finds the same in every locale", "Pacemaker sets LC_ALL=C, a shell does not; case 92"
)
def check_locale(subject: Subject) -> None:
    subject.ensure_started()
    for changes in LOCALES:
        said = " ".join(f"{name}={value}" for name, value in changes.items() if value)
        expect(subject.run("monitor", changes=changes), f"a monitor under {said}")


@GROUP.rule(
    "log",
    "A log that cannot be written fails neither a monitor nor a stop",
    "a full or read-only disk must not fence a node; case 108",
)
def check_log(subject: Subject) -> None:
    nowhere = str(subject.places.root / "missing" / "log")
    changes: dict[str, str | None] = {"HA_LOGFILE": nowhere, "HA_DEBUGLOG": nowhere, "HA_debug": "1"}
    subject.ensure_started()
    expect(subject.run("monitor", changes=changes), "a monitor with no place for a log")
    expect(subject.run("stop", changes=changes), "stop with no place for a log")
    expect(subject.monitor(), "a monitor after that stop", [7])


@GROUP.rule(
    "clone",
    "It works as an instance of a clone: `name:0`",
    "Pacemaker names the instances of a unique clone so",
)
def check_clone(subject: Subject) -> None:
    subject.ensure_stopped()
    before = subject.processes()
    changes: dict[str, str | None] = {
        "OCF_RESOURCE_INSTANCE": f"{subject.settings.resource}:0",
        "OCF_RESKEY_CRM_meta_clone": "0",
        "OCF_RESKEY_CRM_meta_clone_max": "2",
        "OCF_RESKEY_CRM_meta_globally_unique": "true",
    }
    try:
        for action, code in (("monitor", 7), ("start", 0), ("monitor", 0)):
            expect(subject.run(action, changes=changes), f"{action} of the instance name:0", [code])
    finally:
        ran = subject.run("stop", changes=changes)
    expect(ran, "stop of the instance name:0")
    expect(subject.run("monitor", changes=changes), "a monitor of the instance name:0 after stop", [7])
    left = subject.settle(before)
    if left:
        raise Failed(f"after stop of the instance name:0 {left[0]} lives; expected: none")


@GROUP.rule(
    "version",
    "Another major version of the standard is an error",
    "OCF 1.1, API Version Numbers: must be reported by both sides",
    strict=True,
)
def check_version(subject: Subject) -> None:
    subject.ensure_stopped()
    ran = subject.run("start", changes={"OCF_RA_VERSION_MAJOR": "7", "OCF_RA_VERSION_MINOR": "0"})
    if ran.code == 0:
        raise Failed(
            "start with OCF_RA_VERSION_MAJOR=7 and OCF_RA_VERSION_MINOR=0 returned 0 (success);"
            " expected: an error, 1 for example, as this version may mean something else"
        )
