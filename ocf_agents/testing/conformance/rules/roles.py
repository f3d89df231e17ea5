# SPDX-License-Identifier: Apache-2.0
"""The optional actions: promote and demote, notify, reload, migration. Tried if they are advertised."""

from __future__ import annotations

from ocf_agents.testing.conformance.rule import Failed, Group, NotApplicable, ended, expect, said
from ocf_agents.testing.conformance.subject import Subject

from .actions import MIGRATION, migrate, route

GROUP = Group("roles")
TARGET = "node2"
"""The name of a second node, which is this host as well."""
NOTIFICATIONS = (("pre", "start"), ("post", "start"), ("pre", "stop"), ("post", "stop"))


@GROUP.rule(
    "pair", "promote and demote are advertised both, or neither", "ocf-tester; OCF 1.1, promotable clones"
)
def check_pair(subject: Subject) -> None:
    check_both(subject, ("promote", "demote"))


def check_both(subject: Subject, names: tuple[str, ...]) -> None:
    here = [name for name in names if subject.advertises(name)]
    if not here:
        raise NotApplicable(f"neither {' nor '.join(names)} is advertised")
    if len(here) < len(names):
        raise Failed(f"of {' and '.join(names)}, only {here[0]} is advertised; expected: both")


def need_promotable(subject: Subject) -> None:
    subject.needs("promote")
    subject.needs("demote")
    subject.ensure_started()


def need_promoted(subject: Subject) -> None:
    need_promotable(subject)
    ran = subject.run("promote")
    if ran.code != 0:
        raise NotApplicable(f"it is not promoted: promote {ended(ran)}")


@GROUP.rule("promote", "promote of a running resource returns 0", "ocf-tester")
def check_promote(subject: Subject) -> None:
    need_promotable(subject)
    expect(subject.run("promote"), "promote of the running resource")


@GROUP.rule("promoted", "A monitor of a promoted resource returns 8", "Pacemaker; OCF 1.1, Exit status codes")
def check_promoted(subject: Subject) -> None:
    need_promoted(subject)
    expect(subject.monitor(), "a monitor of the promoted resource", [8])


@GROUP.rule("promote-promoted", "promote of a promoted resource returns 0", "OCF 1.1: idempotent; ocf-tester")
def check_promote_promoted(subject: Subject) -> None:
    need_promoted(subject)
    expect(subject.run("promote"), "promote of the promoted resource")


@GROUP.rule("demote", "demote of a promoted resource returns 0, and then a monitor does", "ocf-tester")
def check_demote(subject: Subject) -> None:
    need_promoted(subject)
    expect(subject.run("demote"), "demote of the promoted resource")
    expect(subject.monitor(), "a monitor of the demoted resource")


@GROUP.rule(
    "demote-demoted", "demote of a resource that is not promoted returns 0", "OCF 1.1: idempotent; ocf-tester"
)
def check_demote_demoted(subject: Subject) -> None:
    need_promotable(subject)
    expect(subject.run("demote"), "demote of the running resource")
    expect(subject.monitor(), "a monitor after that demote")


@GROUP.rule("notify", "notify returns 0", "ocf-tester: it cannot fail; Pacemaker ignores its result")
def check_notify(subject: Subject) -> None:
    subject.needs("notify")
    subject.ensure_started()
    for kind, operation in NOTIFICATIONS:
        changes = {
            "OCF_RESKEY_CRM_meta_notify_type": kind,
            "OCF_RESKEY_CRM_meta_notify_operation": operation,
        }
        expect(subject.run("notify", changes=changes), f"notify of {kind}-{operation}")


@GROUP.rule(
    "reload-agent",
    "reload-agent of a running resource returns 0 and leaves its processes alone",
    "OCF 1.1, reload-agent: the agent's parameters, not the service; Pacemaker 2.1",
)
def check_reload_agent(subject: Subject) -> None:
    subject.needs("reload-agent")
    subject.ensure_started()
    before = subject.daemons()
    expect(subject.run("reload-agent"), "reload-agent of the running resource")
    lost = {one.pid for one in before} - {one.pid for one in subject.daemons()}
    if lost:
        raise Failed(f"reload-agent ended process {min(lost)} of the resource; expected: it lives on")
    expect(subject.monitor(), "a monitor after reload-agent")


@GROUP.rule("reload", "reload of a running resource returns 0, and it runs on", "OCF 1.1, reload")
def check_reload(subject: Subject) -> None:
    subject.needs("reload")
    subject.ensure_started()
    expect(subject.run("reload"), "reload of the running resource")
    expect(subject.monitor(), "a monitor after reload")


@GROUP.rule(
    "migration-pair", "migrate_to and migrate_from are advertised both, or neither", "Pacemaker calls both"
)
def check_migration_pair(subject: Subject) -> None:
    check_both(subject, MIGRATION)


@GROUP.rule(
    "migrate",
    "After migrate_to and migrate_from a monitor finds the resource, and a stop ends all of it",
    "Pacemaker: migrate_to on the source, migrate_from on the target, then stop on the source",
)
def check_migrate(subject: Subject) -> None:
    for name in MIGRATION:
        subject.needs(name)
    subject.ensure_started()
    nodes = route(subject, TARGET)
    ran = subject.run("migrate_to", changes=nodes)
    if ran.code != 0:
        raise NotApplicable(f"there is no second host here: migrate_to {ended(ran)}{said(ran)}")
    arrived = {**nodes, "OCF_RESKEY_CRM_meta_on_node": TARGET}
    expect(subject.run("migrate_from", changes=arrived), "migrate_from after migrate_to")
    expect(subject.run("monitor", changes=arrived), "a monitor after migrate_to and migrate_from")
    expect(subject.run("stop", changes={"OCF_RESKEY_CRM_meta_on_node": TARGET}), "stop after a migration")
    expect(subject.monitor(), "a monitor after a migration and a stop", [7])
    left = subject.settle()
    if left:
        raise Failed(f"after a migration and a stop {left[0]} lives; expected: none")


@GROUP.rule(
    "migrate-to-stopped",
    "migrate_to of a stopped resource does not start it",
    "Pacemaker: the resource runs on the target afterwards, not on the source",
)
def check_migrate_to_stopped(subject: Subject) -> None:
    subject.needs("migrate_to")
    subject.ensure_stopped()
    migrate(subject, "migrate_to")
    expect(subject.monitor(), "a monitor after migrate_to of the stopped resource", [7])


@GROUP.rule(
    "migrate-from-stopped",
    "A migrate_from that returns 0 has the resource running, though nothing was there before",
    "Pacemaker: with the answer 0 the resource counts as running on the target",
)
def check_migrate_from_stopped(subject: Subject) -> None:
    subject.needs("migrate_from")
    subject.ensure_stopped()
    if migrate(subject, "migrate_from").code == 0:
        expect(subject.monitor(), "a monitor after migrate_from, which returned 0,")
