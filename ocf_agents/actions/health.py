# SPDX-License-Identifier: Apache-2.0
"""How a service is, as one look of a monitor finds it, and what becomes of that from look to look."""

from __future__ import annotations

from ocf_agents.ocf.errors import Degraded, GenericError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ocf_agents.ocf.log import Log
    from ocf_agents.service.notes import Notes

UP = "up"
DEGRADED = "degraded"
DOWN = "down"
UNKNOWN = "unknown"
SUBJECT = "health"


class Health:
    """`status`: UP, DEGRADED, DOWN, or UNKNOWN, which fails nothing. `text`: why it is not up."""

    __slots__ = ("status", "text")

    def __init__(self, status: str, text: str = "") -> None:
        self.status = status
        self.text = text

    def __repr__(self) -> str:
        return f"Health({self.status}, {self.text!r})"

    def require(self) -> None:
        """Raises what a monitor has to say: GenericError or Degraded."""
        if self.status == DOWN:
            raise GenericError(self.text)
        if self.status == DEGRADED:
            raise Degraded(self.text)


def tell_change(log: Log, notes: Notes, what: str, health: Health, recovered: str) -> None:
    """One line for each change of state, and none for the same again (case 116); unknown is no state."""
    if health.status == UNKNOWN:
        return
    known = [words[1] for words in notes.get(SUBJECT) if words[:1] == [what] and len(words) == 2]
    others = [words for words in notes.get(SUBJECT) if words[:1] != [what]]
    notes.put(SUBJECT, [*others, [what, health.status]])
    if health.status == UP and known not in ([], [UP]):
        log.info(recovered)
    elif health.status != UP and known != [health.status]:
        log.warning(health.text)
