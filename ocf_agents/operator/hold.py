# SPDX-License-Identifier: Apache-2.0
"""An operator's hold: the reason that says so, and when one may be set or taken away. Pure.

A hold is a disable in the operator's own name and words. For the guard it is foreign, as every person's is:
no stop and no start touches it. It is told apart from all other reasons by its form, so that `release`
takes away holds and nothing else:

    ocf-agents hold: by=zoe at=2026-11-30T11:23:23Z: RAM swap, ticket 4711

That is no marker (those begin with `ocf-agents disabled:`), so the guard can never take it for its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from ocf_agents.guard import marker
from ocf_agents.guard.record import DISABLED, Foreign, Record
from ocf_agents.guard.row import Row
from ocf_agents.guard.verdict import Policy
from ocf_agents.operator.texts import quoted
from ocf_agents.operator.trouble import BadInput

PREFIX = "ocf-agents hold: "
HIGHEST = "\uffff"
_SHAPE = re.compile(
    r"ocf-agents hold: by=(?P<by>[!-~]+)"
    r" at=(?P<at>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z): (?P<words>.+)"
)


@dataclass(frozen=True)
class Hold:
    """Who holds the host, since when (UTC), and why in his words."""

    by: str
    at: str
    words: str

    def __str__(self) -> str:
        return f"{PREFIX}by={self.by} at={self.at}: {self.words}"


def make(by: str, at: str, words: str) -> Hold:
    """A hold that Nova takes: one line, at most 255 characters, none beyond 16 bits. Raises BadInput."""
    words = " ".join(words.split())
    hold = Hold(marker.name(by), at, words)
    if not words:
        raise BadInput("--reason needs words: who looks at the host next reads them")
    if not words.isprintable():
        raise BadInput("--reason must be plain text: there is a control character in it")
    if max(words) > HIGHEST:
        raise BadInput(f"--reason must do without {max(words)!a}: Nova cannot store such characters")
    over = len(str(hold)) - marker.MAX_LENGTH
    if over > 0:
        raise BadInput(f"--reason is too long by {over} characters: Nova keeps {marker.MAX_LENGTH} in all")
    return hold


def parse(reason: str | None) -> Hold | None:
    """The hold that a reason is, exactly; None for any other text."""
    match = _SHAPE.fullmatch(reason) if reason else None
    return Hold(**match.groupdict()) if match else None


class Step(NamedTuple):
    """What is to be done: send it, or nothing because it is so already, or refuse. `text` says why.

    `is_forcible`: whoever insists may have it done all the same.
    """

    do: str
    text: str = ""
    is_forcible: bool = True


SEND = "send"
NOTHING = "nothing"
REFUSE = "refuse"


def to_hold(row: Row, hold: Hold, resource: str | None, host: str, record: Record | None) -> Step:
    """What a hold does to a row as it is.

    An enabled row is disabled. Our own marker is replaced: else the next start would undo it, which is
    what the hold is there to prevent. One's own hold gets the new words. Anybody else's disable
    stays: it keeps the host disabled through every stop and start as well, and its words are theirs.
    """
    if not row.disabled:
        return Step(SEND)
    theirs = overlaid(row, resource, host, record)
    present = parse(row.reason)
    if present:
        if (present.by, present.words) == (hold.by, hold.words):
            return Step(NOTHING, f"held already, by {present.by} since {present.at}")
        if present.by != hold.by:
            return Step(REFUSE, f"{present.by} holds it since {present.at}: {quoted(present.words)}")
        return Step(SEND)
    if theirs is None and is_agents(row, resource, host):
        return Step(SEND)
    words = quoted(theirs.reason if theirs else row.reason)
    over = " (a late disable of the agent's stands over it)" if theirs else ""
    return Step(
        REFUSE, f"somebody else disabled it, {words}{over}; as it is, it stays so through stops and starts"
    )


def to_release(row: Row, resource: str | None, host: str, record: Record | None, binary: str) -> Step:
    """What a release does to a row as it is: only a hold is taken away, and only from a host that is up."""
    if not row.disabled:
        return Step(NOTHING, "it is enabled already")
    theirs = overlaid(row, resource, host, record)
    if parse(row.reason) is None and not (theirs and parse(theirs.reason)):
        return Step(REFUSE, _not_held(row, resource, host), is_forcible=False)
    if record is not None and record.want == DISABLED and not record.is_empty:
        return Step(
            REFUSE,
            f"the cluster has stopped {binary} here: enabled and down, the host looks like one that has"
            " failed, and an evacuator may act on it; start the resource first, the hold stays through that",
        )
    if not row.up:
        return Step(
            REFUSE,
            f"Nova sees {binary} down: enabled and down, the host looks like one that has failed, and an"
            " evacuator may act on it; bring it up first",
        )
    return Step(SEND)


def overlaid(row: Row, resource: str | None, host: str, record: Record | None) -> Foreign | None:
    """The person's reason that a late disable of ours stands over, by the record; None where none does."""
    found = marker.parse(row.reason)
    is_ours = found is not None and resource is not None and found.belongs_to(resource, host)
    return record.foreign if is_ours and record else None


def is_agents(row: Row, resource: str | None, host: str) -> bool:
    """Whether the row is disabled with the marker of this host, and of this resource if one is named."""
    found = marker.parse(row.reason)
    if found is None or found.host != marker.name(host):
        return False
    return resource is None or found.resource == marker.name(resource)


def would_be_undone(hold: Hold, policy: Policy) -> bool:
    """Whether `enable_reasons` lists how a hold begins: then the next start would undo it."""
    return policy.releases(str(hold))


def _not_held(row: Row, resource: str | None, host: str) -> str:
    if is_agents(row, resource, host):
        return "the agent disabled it, for its service was stopped: the next start enables it"
    return (
        f"no hold of ocf-agents: disabled with {quoted(row.reason)}; if that may go,"
        f" openstack compute service set --enable {host} nova-compute"
    )
