# SPDX-License-Identifier: Apache-2.0
"""Which actions there are, and what the others return."""

from __future__ import annotations

from ocf_agents.testing.conformance.document import NoDocument, parse
from ocf_agents.testing.conformance.rule import Failed, Group, NotApplicable, expect
from ocf_agents.testing.conformance.runner import Ran
from ocf_agents.testing.conformance.subject import Subject

GROUP = Group("actions")
UNKNOWN = "no-such-action"
WHILE_RUNNING = ("validate-all", "monitor", "notify", "reload", "reload-agent", "promote", "demote")
OPTIONAL = ("validate-all", "notify", "reload", "reload-agent", "promote", "demote")
MIGRATION = ("migrate_to", "migrate_from")
"""These may end the resource: tried on a stopped one."""


@GROUP.rule(
    "unknown",
    "An action that does not exist returns 3",
    "OCF 1.1, Exit status codes: unimplemented feature; ocf-tester",
)
def check_unknown(subject: Subject) -> None:
    expect(subject.run(UNKNOWN), f"the action {UNKNOWN}", [3])


@GROUP.rule(
    "unknown-idle",
    "An action that does not exist changes nothing",
    "OCF 1.1, Resource Agent actions",
)
def check_unknown_idle(subject: Subject) -> None:
    subject.ensure_started()
    before = subject.processes()
    subject.run(UNKNOWN)
    left = subject.settle(before, 1.0)
    if left:
        raise Failed(f"the action {UNKNOWN} began {left[0]}; expected: nothing")
    expect(subject.monitor(), f"a monitor after the action {UNKNOWN}")


@GROUP.rule(
    "usage",
    "An action that does not exist is answered with a usage or a reason",
    "developer's guide",
    strict=True,
)
def check_usage(subject: Subject) -> None:
    ran = subject.run(UNKNOWN)
    if not (ran.stdout + ran.stderr).strip():
        raise Failed(f"the action {UNKNOWN} is answered with silence; expected: a usage, or a reason")


@GROUP.rule(
    "none",
    "Without an action it returns an error, and does nothing",
    "OCF 1.1, Execution syntax: one argument",
)
def check_none(subject: Subject) -> None:
    call = subject.call("", subject.environ(""))
    ran = subject.runner.run([type(call)(call.argv[:1], call.env, call.cwd)], subject.timeout(""))[0]
    if ran.timed_out:
        raise Failed(f"without an action it did not end within {ran.seconds:.0f} s; expected: an error")
    if ran.code == 0:
        raise Failed("without an action it returned 0 (success); expected: an error")


@GROUP.rule("extra-arguments", "Arguments after the action are ignored", "OCF 1.1, Execution syntax")
def check_extra_arguments(subject: Subject) -> None:
    subject.ensure_started()
    expect(subject.run("monitor", "one", "more"), "a monitor with further arguments")


@GROUP.rule(
    "implemented",
    "Each action that is advertised exists: none returns 3",
    "OCF 1.1, Resource Agent actions; ocf-tester; case 93",
)
def check_implemented(subject: Subject) -> None:
    subject.ensure_started()
    missing = [name for name in WHILE_RUNNING if subject.advertises(name) and subject.run(name).code == 3]
    if any(subject.advertises(name) for name in MIGRATION):
        subject.ensure_stopped()
        missing += [
            name for name in MIGRATION if subject.advertises(name) and migrate(subject, name).code == 3
        ]
    if missing:
        raise Failed(f"advertised, but returns 3 (unimplemented): {', '.join(missing)}")


def migrate(subject: Subject, name: str) -> Ran:
    return subject.run(name, changes=route(subject))


def route(subject: Subject, target: str | None = None) -> dict[str, str]:
    """What Pacemaker says of a migration from this node; by default to itself."""
    node = subject.environ("monitor")["OCF_RESKEY_CRM_meta_on_node"]
    return {
        "OCF_RESKEY_CRM_meta_migrate_source": node,
        "OCF_RESKEY_CRM_meta_migrate_target": target or node,
    }


@GROUP.rule(
    "advertised",
    "Each action that exists is advertised: an optional one that is not returns 3",
    "OCF 1.1, Resource Agent actions: optional ones must be advertised if supported; case 93",
)
def check_advertised(subject: Subject) -> None:
    if all(subject.advertises(name) for name in (*OPTIONAL, *MIGRATION)):
        raise NotApplicable("all actions are advertised")
    subject.ensure_started()
    hidden = [one for one in OPTIONAL if not subject.advertises(one) and subject.run(one).code != 3]
    if not all(subject.advertises(name) for name in MIGRATION):
        subject.ensure_stopped()
        hidden += [
            one for one in MIGRATION if not subject.advertises(one) and migrate(subject, one).code != 3
        ]
    if hidden:
        raise Failed(f"not advertised, but does not return 3 (unimplemented): {', '.join(hidden)}")


@GROUP.rule(
    "stdout",
    "No action but meta-data prints XML",
    "Pacemaker 2.1 takes what validate-all prints for a part of its own XML; case 101",
)
def check_stdout(subject: Subject) -> None:
    subject.ensure_stopped()
    names = ["start", "monitor", *(["validate-all"] if subject.advertises("validate-all") else []), "stop"]
    for name in names:
        if is_xml(subject.run(name).stdout):
            raise Failed(f"{name} prints XML; expected: plain text, or nothing")


def is_xml(text: str) -> bool:
    if not text.lstrip().startswith("<"):
        return False
    try:
        parse(text)
    except NoDocument as error:
        return "root" in str(error)
    return True
