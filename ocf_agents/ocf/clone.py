# SPDX-License-Identifier: Apache-2.0
"""What Pacemaker says of the clone that an instance belongs to (Pacemaker Explained, "Clones")."""

from __future__ import annotations

from .environment import read_number
from .parameters import TRUE_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

META = "OCF_RESKEY_CRM_meta_"


class Clone:
    """The clone of an instance; `number` is None for a resource that is none.

    number: of this instance, from 0. most, most_on_node: `clone-max` and `clone-node-max`.
    most_promoted, most_promoted_on_node: of a promotable clone, else 0. is_unique: the instances differ
    from each other (`globally-unique`). notifies: the instances are told about each other.
    Pacemaker 2.1 says promoted and master, older ones master only; both are understood.
    """

    __slots__ = (
        "is_promotable",
        "is_unique",
        "most",
        "most_on_node",
        "most_promoted",
        "most_promoted_on_node",
        "notifies",
        "number",
    )

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.number = read_number(environ, META + "clone", None)
        self.most = read_number(environ, META + "clone_max", 0) or 0
        self.most_on_node = read_number(environ, META + "clone_node_max", 0) or 0
        self.most_promoted = _either(environ, "promoted_max", "master_max")
        self.most_promoted_on_node = _either(environ, "promoted_node_max", "master_node_max")
        self.is_promotable = self.most_promoted > 0
        self.is_unique = _flag(environ, "globally_unique")
        self.notifies = _flag(environ, "notify")


def _either(environ: Mapping[str, str], new: str, old: str) -> int:
    return read_number(environ, META + new, None) or read_number(environ, META + old, None) or 0


def _flag(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(META + name, "").strip().lower() in TRUE_WORDS
