# SPDX-License-Identifier: Apache-2.0
"""What a node's firewall does not let out: nftables in the node's own network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from labkit.compute import UID, USER
from labkit.node import Node

TABLE = "lab"
RULES = """\
table inet {table} {{
  chain out {{
    type filter hook output priority 0
    {rule}
  }}
}}
"""


@contextmanager
def silence(node: Node, port: int, user: str | None = None) -> Iterator[None]:
    """Nothing of the node, or of that user alone, gets to that TCP port while this lasts; nobody is told."""
    who = "" if user is None else f"meta skuid {UID if user == USER else user} "
    node.run("nft", "--file", "-", text=RULES.format(table=TABLE, rule=f"{who}tcp dport {port} drop"))
    try:
        yield
    finally:
        if node.is_up:
            node.run("nft", "delete", "table", "inet", TABLE)
