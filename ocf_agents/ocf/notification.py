# SPDX-License-Identifier: Apache-2.0
"""What a `notify` action is told: what is about to happen to the clone's instances, or has happened."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

META = "OCF_RESKEY_CRM_meta_notify_"
OLD_WORDS = {"promoted": "master", "unpromoted": "slave"}
"""Before Pacemaker 2.1."""


class Notification:
    """One notification (Pacemaker Explained, "Clone Notifications").

    when: `pre` or `post`. operation: `start`, `stop`, `promote` or `demote`. Both are empty outside a
    `notify` action.
    """

    __slots__ = ("_environ", "operation", "when")

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.when = environ.get(META + "type", "").strip()
        self.operation = environ.get(META + "operation", "").strip()

    def instances(self, group: str) -> list[str]:
        """Names of the instances in a group, for example `["db:0", "db:1"]`.

        Groups: `start`, `stop`, `promote`, `demote` (what the transition does), `active`, `inactive`,
        `promoted`, `unpromoted` (how it was before).
        """
        return self._words(group, "resource")

    def nodes(self, group: str) -> list[str]:
        """Their nodes, in the same order; also `available`: all that may run an instance."""
        return self._words(group, "uname")

    def _words(self, group: str, kind: str) -> list[str]:
        text = self._environ.get(f"{META}{group}_{kind}")
        if text is None and group in OLD_WORDS:
            text = self._environ.get(f"{META}{OLD_WORDS[group]}_{kind}")
        return (text or "").split()
