# SPDX-License-Identifier: Apache-2.0
"""What to do with a row: pure functions from what is wanted, read and remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ocf_agents.guard import marker
from ocf_agents.guard.record import DISABLE, DISABLED, ENABLE, ENABLED, FOREIGN, OURS, UNKNOWN, Foreign
from ocf_agents.guard.row import Row

NONE = "none"
LEAVE = "leave"
RETRY = "retry"


@dataclass(frozen=True)
class Policy:
    """What the operator decided, and whose row it is. Times are in seconds.

    `hold` is the longest time for which the API, its proxies and its queues may keep a request
    before applying it. A row `moves` when it can follow the resource to another node.
    """

    resource: str
    host: str
    hold: float = 300.0
    api_timeout: float = 10.0
    disable_on_stop: bool = True
    enable_on_start: bool = True
    enable_reasons: tuple[str, ...] = ()
    moves: bool = False

    def releases(self, reason: str | None) -> bool:
        """Whether an operator has said that disables with this reason may be undone (case 4)."""
        return reason is not None and any(
            prefix and reason.startswith(prefix) for prefix in self.enable_reasons
        )


class Verdict(NamedTuple):
    """What to do (`disable`, `enable`, `leave`, `retry`) and why, in words for people."""

    do: str
    why: str
    is_warning: bool = False


def status_of(row: Row | None, policy: Policy) -> str:
    """A row that was read, as one of none, enabled, ours, foreign. Only the status decides (case 8)."""
    if row is None:
        return NONE
    if not row.disabled:
        return ENABLED
    found = marker.parse(row.reason)
    return OURS if found and found.belongs_to(policy.resource, policy.host) else FOREIGN


def judge(want: str, status: str, row: Row | None, foreign: Foreign | None, policy: Policy) -> Verdict:
    """The verdict of the design's table for one reading of the row."""
    if status in (UNKNOWN, NONE):
        return Verdict(RETRY, "the row could not be read" if status == UNKNOWN else "there is no such row")
    remembered = foreign if foreign and not policy.releases(foreign.reason) else None
    if status == OURS and remembered:
        return Verdict(LEAVE, _overlaid(remembered), is_warning=True)
    return _when_disabled(status, row, policy) if want == DISABLED else _when_enabled(status, row, policy)


def somebody_elses(reason: str | None) -> str:
    """What is said of a row that is somebody else's: their words belong to it."""
    return f"disabled by somebody else, {quote(reason)}"


def quote(reason: str | None) -> str:
    """A reason as people read it."""
    return "no reason given" if reason is None else f"reason {reason!r}"


def _overlaid(remembered: Foreign) -> str:
    return (
        f"a late disable of ours replaced somebody's own ({quote(remembered.reason)}, read {remembered.at});"
        " it is left to them"
    )


def _when_disabled(status: str, row: Row | None, policy: Policy) -> Verdict:
    if status == ENABLED and policy.disable_on_stop:
        return Verdict(DISABLE, "the row is enabled and the service stops")
    if status == ENABLED:
        return Verdict(LEAVE, "disable_on_stop is false")
    if status == OURS:
        return Verdict(LEAVE, "disabled by us already")
    return Verdict(LEAVE, somebody_elses(row.reason if row else None))


def _when_enabled(status: str, row: Row | None, policy: Policy) -> Verdict:
    if status == ENABLED:
        return Verdict(LEAVE, "the row is enabled")
    is_releasable = status == FOREIGN and row is not None and policy.releases(row.reason)
    if status == FOREIGN and not is_releasable:
        return Verdict(LEAVE, somebody_elses(row.reason if row else None), is_warning=True)
    if not policy.enable_on_start:
        return Verdict(LEAVE, "disabled by us, and enable_on_start is false", is_warning=True)
    return Verdict(ENABLE, "enable_reasons releases this disable" if is_releasable else "the disable is ours")
