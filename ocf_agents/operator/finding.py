# SPDX-License-Identifier: Apache-2.0
"""Finding the guarded resources of this host: in the cluster's configuration, else by their records."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ocf_agents.guard import names
from ocf_agents.guard.parameters import STATE_DIR
from ocf_agents.guard.record import Unusable as BadRecord
from ocf_agents.guard.record import decode
from ocf_agents.guard.store import Identity
from ocf_agents.operator import catalog, cluster, given
from ocf_agents.operator.catalog import Kind
from ocf_agents.operator.cib import Configured
from ocf_agents.operator.resource import Resource
from ocf_agents.operator.texts import clean
from ocf_agents.operator.trouble import BadInput, NotFound, Unusable

RECORD = ".json"
LARGEST = 65536
DEFAULT_KIND = "nova-compute"


@dataclass(frozen=True)
class Wanted:
    """What the command line says: which resource or host, parameters and a cloud over the cluster's.

    `hint`: what else the command takes where nothing is found here.
    """

    name: str | None = None
    host: str | None = None
    cloud: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    agent: str | None = None
    hint: str = ""


@dataclass(frozen=True)
class Target:
    """A row to look at. `resource` is None for another machine's host: then only the row tells.

    `via` is a resource whose parameters say to which cloud, and as whom.
    """

    host: str
    via: Resource
    resource: Resource | None = None

    @property
    def name(self) -> str:
        return self.resource.name if self.resource else self.host


@dataclass(frozen=True)
class Hostless:
    """A resource of this host whose name in the cloud cannot be found out; `text` says why."""

    resource: Resource
    text: str


def here(wanted: Wanted, source: cluster.Source) -> list[Resource]:
    """All guarded resources of this host, with the command line's parameters over their own.

    Raises BadInput for parameters that their agent does not know.
    """
    if wanted.agent is not None:
        catalog.kind_of(wanted.agent)
    found = _without_others([*_configured(source)])
    found += _recorded_only(found, wanted)
    for resource in found[:1] or [blank(wanted)]:
        given.check(resource.agent, wanted.parameters)
    return [_with(resource, wanted) for resource in found]


def targets(wanted: Wanted, source: cluster.Source) -> list[Target]:
    """What a command is about. Raises NotFound, BadInput, Unusable."""
    found, lost = all_targets(wanted, source)
    if lost:
        raise Unusable(lost[0].text)
    return found


def all_targets(wanted: Wanted, source: cluster.Source) -> tuple[list[Target], list[Hostless]]:
    """What a command is about that tells of each, also where one cannot be found out.

    Raises NotFound, BadInput; Unusable where that is so of all of them.
    """
    resources = here(wanted, source)
    if wanted.name is not None:
        resources = named(wanted.name, resources, source, wanted.hint)
    if wanted.host is not None:
        return _of_host(wanted, wanted.host, resources), []
    if not resources:
        raise NotFound(nothing_here(source, wanted.hint))
    found, lost = [], []
    for one in resources:
        try:
            found.append(Target(one.host(), one, one))
        except Unusable as error:
            lost.append(Hostless(one, error.text))
    if not found:
        raise Unusable(lost[0].text)
    return found, lost


def _of_host(wanted: Wanted, host: str, resources: Sequence[Resource]) -> list[Target]:
    """The resources here that are for a host; else its row alone."""
    local = [one for one in resources if host_or_none(one) == host]
    if local:
        return [Target(host, one, one) for one in local]
    if wanted.name is not None:
        raise NotFound(f"{wanted.name} of this machine is not for host {host}: leave the name out")
    via = resources[0] if resources else blank(wanted)
    return [Target(host, via)]


def one_target(wanted: Wanted, source: cluster.Source) -> Target:
    """The only one, or the only one that the cluster has beside records of old names. Else BadInput."""
    found = targets(wanted, source)
    configured = [one for one in found if one.resource and one.resource.configured]
    if len(configured) == 1:
        return configured[0]
    if len(found) > 1:
        raise BadInput(f"name one of the resources: {', '.join(clean(one.name) for one in found)}")
    return found[0]


def named(name: str, resources: Sequence[Resource], source: cluster.Source, hint: str = "") -> list[Resource]:
    """Those of this name: the instance's own, without its number, or its clone's. Raises NotFound."""
    found = [one for one in resources if name in _names(one)]
    if not found:
        known = ", ".join(clean(one.name) for one in resources)
        known = f"here are {known}" if known else nothing_here(source, hint)
        raise NotFound(f"no guarded resource {clean(name)[:80]!r} on this host: {known}")
    return found


def nothing_here(source: cluster.Source, hint: str = "") -> str:
    """Why nothing was found, and what to do. `hint`: see `Wanted`."""
    hints = ", ".join(filter(None, (hint, "-o state_dir=PATH looks elsewhere")))
    return f"no guarded resource (of the cluster: {source.text}) and no record in {STATE_DIR}: {hints}"


def blank(wanted: Wanted) -> Resource:
    """A resource that is nothing but the command line's parameters: the way to a cloud."""
    kind = catalog.kind_of(wanted.agent or DEFAULT_KIND)
    return _with(_made(kind, kind.name, {}, "the command line"), wanted)


def records(directory: str) -> list[tuple[str, str]]:
    """The instances that have a record in a directory, each with its host. Raises Unusable."""
    try:
        entries = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Unusable(f"cannot read {directory}: {error.strerror}: run this as root") from None
    found = (_instance(os.path.join(directory, one), one) for one in entries if one.endswith(RECORD))
    return [one for one in found if one is not None]


def _configured(source: cluster.Source) -> Iterator[Resource]:
    kinds = {kind.name: kind for kind in catalog.guarded()}
    for one in source.cluster.resources if source.cluster else ():
        kind = kinds.get(one.type)
        if kind is not None and one.standard == "ocf":
            parameters = cluster.with_secrets(one)
            made = _made(kind, one.name, parameters, source.text, one)
            yield from _instances(made, one)


def _instances(made: Resource, configured: Configured) -> Iterator[Resource]:
    """The instances of a globally unique clone have names of their own; those with a record are here."""
    if not configured.is_unique:
        yield made
        return
    try:
        known = [name for name, _ in records(made.state_dir) if name.rpartition(":")[0] == made.name]
    except Unusable:
        known = []
    yield from (replace(made, name=name) for name in known or [f"{made.name}:0"])


def _without_others(found: list[Resource]) -> list[Resource]:
    """Where each host has a primitive of its own: of those for one host, the ones that have worked here.

    Without a clone and without `host` nothing in the cluster says whose a primitive is: its record does.
    """
    if len(found) < 2:
        return found
    worked = [one for one in found if _has_record(one)]
    hosts = {host_or_none(one) for one in worked} - {None}

    def is_others(one: Resource) -> bool:
        has_a_clone = one.configured is not None and one.configured.clone is not None
        return not has_a_clone and one not in worked and host_or_none(one) in hosts

    return [one for one in found if not is_others(one)]


def _has_record(resource: Resource) -> bool:
    name = names.record(resource.name)
    return _instance(os.path.join(resource.state_dir, name), name) is not None


def _recorded_only(known: Sequence[Resource], wanted: Wanted) -> list[Resource]:
    """Those that only a record tells of: no cluster runs here, or it has forgotten them."""
    said = wanted.parameters.get("state_dir")
    folders = [said] if said else list(dict.fromkeys([*(one.state_dir for one in known), STATE_DIR]))
    taken = {one.name for one in known}
    try:
        found = [(folder, name) for folder in folders for name, _ in records(folder) if name not in taken]
    except Unusable:
        if not known and wanted.host is None:
            raise
        return []
    return [
        _made(_kind(name, wanted), name, {"state_dir": folder}, "its record alone") for folder, name in found
    ]


def _kind(name: str, wanted: Wanted) -> Kind:
    """A record does not say whose it is; its name often does."""
    if wanted.agent:
        return catalog.kind_of(wanted.agent)
    alike = [kind for kind in catalog.guarded() if kind.name in name]
    return alike[0] if alike else catalog.kind_of(DEFAULT_KIND)


def _made(
    kind: Kind, name: str, parameters: Mapping[str, str], source: str, configured: Configured | None = None
) -> Resource:
    if kind.service is None:
        raise BadInput(f"{kind.name} has no row in the cloud")
    return Resource(name, kind.agent, kind.service, parameters, source, configured)


def _with(resource: Resource, wanted: Wanted) -> Resource:
    return replace(resource, parameters=given.merged(resource.parameters, wanted.parameters, wanted.cloud))


def _names(resource: Resource) -> set[str]:
    clone = resource.configured.clone if resource.configured else None
    base = resource.configured.name if resource.configured else resource.name
    return {resource.name, base, *([clone] if clone else [])}


def host_or_none(resource: Resource) -> str | None:
    """The resource's host; None where it cannot be found out."""
    try:
        return resource.host()
    except Unusable:
        return None


def whose(path: str) -> Identity | None:
    """Whose a whole record is, under whatever name; None for all else."""
    try:
        found = decode(_read(path).decode("utf-8", "replace"))
    except (OSError, BadRecord):
        return None
    return Identity(found.resource, found.machine_id, found.host)


def _read(path: str) -> bytes:
    """A small file; no link is followed, no pipe waited for. Raises OSError."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        data = os.read(file, LARGEST + 1)
    finally:
        os.close(file)
    if len(data) > LARGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return data


def _instance(path: str, name: str) -> tuple[str, str] | None:
    """Whose record a file is, if its name agrees; the store looks closer when it is used."""
    try:
        data = json.loads(_read(path))
    except (OSError, ValueError, RecursionError):
        return None
    said = data if isinstance(data, dict) else {}
    instance, host = said.get("resource"), said.get("host")
    if not isinstance(instance, str) or not isinstance(host, str):
        return None
    try:
        return (instance, host) if names.record(instance) == name else None
    except UnicodeEncodeError:  # JSON can spell half a character; no file has such a name
        return None
