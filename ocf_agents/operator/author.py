# SPDX-License-Identifier: Apache-2.0
"""Who disabled a row, and since when: from its reason, and from what the record remembers. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ocf_agents.guard import marker
from ocf_agents.guard.record import Record
from ocf_agents.guard.row import Row
from ocf_agents.operator import hold
from ocf_agents.operator.texts import quoted, since

NOBODY = "nobody"
AGENT = "agent"
OTHER_AGENT = "another resource"
OVERLAID = "somebody, under the agent's marker"
HELD = "hold"
NOVA = "nova"
PROGRAM = "program"
SOMEBODY = "somebody"

AUTO = "AUTO:"
"""How a reason begins that nova-compute itself gives; it takes such a disable away by itself."""

PROGRAMS = (
    ("Masakari detected host failed", "Masakari, which took the host for failed"),
    ("instanceha", "instanceha, which evacuates hosts"),
)
"""How the reasons of evacuators begin, and whose they are."""


@dataclass(frozen=True)
class Author:
    """`kind` is one of the constants above; `at` is UTC, empty where nobody wrote it down."""

    kind: str
    text: str
    at: str = ""
    resource: str = ""
    host: str = ""
    words: str | None = None

    @property
    def when(self) -> str:
        return f", since {since(self.at)}" if self.at else ""


def of_row(row: Row, resource: str | None, host: str, record: Record | None = None) -> Author:
    """Who disabled it. Without a `resource` (another machine's), any marker of the host is."""
    if not row.disabled:
        return Author(NOBODY, "nobody: it is enabled")
    covered = hold.overlaid(row, resource, host, record)
    if covered:
        text = f"somebody, {quoted(covered.reason)}; a late disable of the agent's fell on it"
        return Author(OVERLAID, text, covered.at, words=covered.reason)
    found = marker.parse(row.reason)
    if found:
        return _agent(found, resource, host)
    held = hold.parse(row.reason)
    if held:
        return Author(HELD, f"{held.by}, with a hold: {quoted(held.words)}", held.at, words=held.words)
    return _other(row.reason)


def _agent(found: marker.Marker, resource: str | None, host: str) -> Author:
    is_of_host = found.host == marker.name(host)
    if is_of_host and (resource is None or found.resource == marker.name(resource)):
        text = f"the agent of resource {found.resource}, when its service was stopped"
        return Author(AGENT, text, found.at, found.resource, found.host)
    text = f"the agent of another resource or host: resource {found.resource}, host {found.host}"
    return Author(OTHER_AGENT, text, found.at, found.resource, found.host)


def _other(reason: str | None) -> Author:
    if reason is None or reason == "":
        text = f"somebody or some program, {quoted(reason)} (fence_compute gives none)"
        return Author(SOMEBODY, text, words=reason)
    if reason.startswith(AUTO):
        return Author(NOVA, f"nova-compute itself, {quoted(reason)}", words=reason)
    for beginning, program in PROGRAMS:
        if reason.startswith(beginning):
            return Author(PROGRAM, f"{program}, {quoted(reason)}", words=reason)
    return Author(SOMEBODY, f"somebody, {quoted(reason)}", words=reason)
