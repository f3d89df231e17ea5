# SPDX-License-Identifier: Apache-2.0
"""All that is looked at, in the order in which it is told."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ocf_agents.guard import names
from ocf_agents.openstack.cloud import CloudSettings
from ocf_agents.operator import cluster, finding, look
from ocf_agents.operator.doctor import cloud, host
from ocf_agents.operator.doctor import cluster as configuration
from ocf_agents.operator.doctor.finding import PROBLEM, Finding, problem, warning
from ocf_agents.operator.finding import Wanted
from ocf_agents.operator.resource import Resource, settings_of
from ocf_agents.operator.texts import clean
from ocf_agents.operator.trouble import DONE, WRONG, NotFound, Trouble, Unusable


@dataclass(frozen=True)
class Chapter:
    """The findings about one resource, or about the host itself."""

    title: str
    findings: tuple[Finding, ...]


def examine(wanted: Wanted, source: cluster.Source) -> list[Chapter]:
    """Everything. Raises NotFound, BadInput."""
    resources = finding.here(wanted, source)
    if wanted.name is not None:
        resources = finding.named(wanted.name, resources, source, wanted.hint)
    if not resources and not wanted.parameters and not wanted.cloud:
        raise NotFound(finding.nothing_here(source, wanted.hint))
    chapters = [Chapter("this host", tuple(_of_host(resources, source)))]
    for one in resources or [finding.blank(wanted)]:
        is_removed = one in resources and source.cluster is not None and _is_forgotten(one)
        found = _of_remains(one) if is_removed else _of_resource(one, source)
        chapters.append(Chapter(clean(one.name), tuple(found)))
    return chapters


def code_of(chapters: Sequence[Chapter]) -> int:
    """The exit code: whether there is any problem; a warning is none."""
    levels = {one.level for chapter in chapters for one in chapter.findings}
    return WRONG if PROBLEM in levels else DONE


def _of_host(resources: Sequence[Resource], source: cluster.Source) -> Iterator[Finding]:
    if os.geteuid() != 0:
        yield warning("root", "this is not run as root: it sees less than the agent", "run it with sudo")
    if source.cluster is None:
        yield warning("cluster", f"its configuration is not looked at: {clean(source.text)}", "start it")
    else:
        if not source.is_running:
            yield warning("cluster", f"looked at {clean(source.text)}, not at a running one", "start it")
        yield from configuration.of_cluster(source.cluster)
    yield from configuration.of_hosts(dict(_hosts(resources)))
    yield from _of_records(resources, source)
    yield from host.of_programs()


def _of_resource(resource: Resource, source: cluster.Source) -> Iterator[Finding]:
    yield from host.of_installation(resource)
    times = host.times_of(resource)
    yield from host.of_service(resource, times)
    yield from host.of_times(times)
    yield from host.of_state_dir(resource)
    settings = _settings(resource)
    if settings:
        yield from host.of_clouds_file(settings)
    if source.cluster:
        yield from configuration.of_resource(resource, source.cluster, times.graceful)
    found = cloud.asked(resource)
    if isinstance(found, Finding):
        yield found
    else:
        yield from cloud.of_survey(found)
    try:
        name = resource.host()
    except Unusable as error:
        yield problem("host", clean(error.text), "set the parameter host")
        return
    yield from host.of_name(resource)
    yield from host.of_record(look.memory_of(resource, name))
    if not isinstance(found, Finding):
        yield cloud.of_row(found, _next_host(resource) or name, resource.service.row, resource.recorded_host)
        yield from host.of_look(look.look(finding.Target(name, resource, resource)))


def _of_remains(resource: Resource) -> Iterator[Finding]:
    """What a resource that the cluster has no more has left: its record here, and its row."""
    yield from host.of_state_dir(resource)
    name = resource.recorded_host
    if not name:
        return
    yield from host.of_record(look.memory_of(resource, name))
    if not isinstance(cloud.asked(resource), Finding):
        yield from host.of_remains(look.look(finding.Target(name, resource, resource)))


def _next_host(resource: Resource) -> str:
    """Empty where it cannot be found out, which a finding of its own tells."""
    try:
        return resource.next_host()
    except Unusable:
        return ""


def _settings(resource: Resource) -> CloudSettings | None:
    try:
        return settings_of(resource)
    except Trouble:
        return None


def _hosts(resources: Sequence[Resource]) -> Iterator[tuple[str, str]]:
    """The resources that have worked here, or that run on every node, with their hosts."""
    for one in resources:
        is_here = bool(one.recorded_host) or (one.configured is not None and one.configured.clone is not None)
        try:
            if is_here and not _is_forgotten(one):
                yield one.name, one.host()
        except Unusable:
            continue


def _is_forgotten(resource: Resource) -> bool:
    return resource.configured is None


def _of_records(resources: Sequence[Resource], source: cluster.Source) -> Iterator[Finding]:
    """Records of resources that the cluster does not have, or not any more."""
    for one in resources if source.cluster else ():
        if _is_forgotten(one):
            path = os.path.join(one.state_dir, names.record(one.name))
            yield warning(
                "record",
                f"{clean(path)}: the cluster has no resource {clean(one.name)}",
                "if it was renamed: ocf-agents adopt; then remove the record, once no helper of it runs",
            )
