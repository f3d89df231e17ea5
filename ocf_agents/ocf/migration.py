# SPDX-License-Identifier: Apache-2.0
"""Between which nodes `migrate_to` and `migrate_from` move a resource."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

META = "OCF_RESKEY_CRM_meta_migrate_"


class Migration:
    """`source` and `target`: node names; empty outside of a migration.

    `migrate_to` runs on the source and pushes; `migrate_from` then runs on the target; the stop that
    follows on the source is an ordinary one (OCF 1.1, "migrate_to", "migrate_from").
    """

    __slots__ = ("source", "target")

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.source = environ.get(META + "source", "").strip()
        self.target = environ.get(META + "target", "").strip()
