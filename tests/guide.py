# SPDX-License-Identifier: Apache-2.0
"""The blocks of docs/guide.md: what it tells to type, and the configurations for crmsh."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

PATH = Path(__file__).parents[1] / "docs" / "guide.md"
TEXT = PATH.read_text(encoding="utf-8")
CRMSH = ("primitive", "clone", "location", "colocation", "order", "rule")
AGENT = "ocf:heartbeat:nova-compute"
SECTIONS = ("op", "meta", "clone")
OLD_RESOURCE = """\
primitive openstack-nova-compute systemd:UNIT \\
    op start interval=0s timeout=100s \\
    op stop interval=0s timeout=100s \\
    op monitor interval=30s timeout=100s
clone openstack-nova-compute-clone openstack-nova-compute \\
    meta interleave=true
location old-on-hypervisors openstack-nova-compute-clone \\
    rule -inf: not_defined hypervisor or hypervisor ne true
"""
"""What a migration begins with; UNIT: of systemd."""


@dataclass(frozen=True)
class Block:
    """`section`: the heading above. `needs`: what its comment says must be there.

    `lines`: those that a backslash continues are joined.
    """

    section: str
    needs: tuple[str, ...]
    lines: tuple[str, ...]
    text: str

    @property
    def is_crmsh(self) -> bool:
        return self.lines[0].split()[0] == "primitive"

    @property
    def is_pcs(self) -> bool:
        """Whether it changes the cluster's configuration with pcs, and with nothing else."""
        return all(line.split()[0] == "pcs" for line in self.lines)

    def __str__(self) -> str:
        return f"{self.section}: {self.lines[0][:40]}"


@dataclass(frozen=True)
class Resource:
    """A nova-compute as a block configures it."""

    name: str
    parameters: dict[str, str]
    operations: list[tuple[str, dict[str, str]]]
    meta: dict[str, str]
    clone: dict[str, str] | None = field(default=None)


def blocks() -> list[Block]:
    """All of them, in the order of the guide."""
    found: list[Block] = []
    section, needs, lines = "", (), []  # type: ignore[var-annotated]
    for line in [*TEXT.splitlines(), ""]:
        if line.startswith("    "):
            lines.append(line[4:])
            continue
        if lines:
            text = "\n".join(lines) + "\n"
            joined = re.sub(r"\\\n\s*", "", text)
            found.append(Block(section, needs, tuple(joined.splitlines()), text))
            needs, lines = (), []
        heading = re.match(r"#+ (.+)", line)
        section = heading[1] if heading else section
        comment = re.match(r"<!-- needs: (.+) -->", line)
        needs = tuple(comment[1].split()) if comment else needs
    return found


def resources(block: Block) -> list[Resource]:
    """Each nova-compute that a block makes."""
    found = [_of(words) for words in map(_words, block.lines) if words]
    clones = {}
    for line in block.lines:
        words = shlex.split(line)
        if words[0] == "clone":
            clones[words[2]] = _pairs(words[4:] if words[3:4] == ["meta"] else [])
    return [
        one
        if one.clone is not None
        else Resource(one.name, one.parameters, one.operations, one.meta, clones.get(one.name))
        for one in found
    ]


def _words(line: str) -> list[str]:
    """From a resource's name on; nothing of a line that makes no nova-compute."""
    words = shlex.split(line, comments=False)
    if AGENT not in words:
        return []
    return words[words.index(AGENT) - 1 :]


def _of(words: list[str]) -> Resource:
    name, rest = words[0], words[2:]
    if rest[:1] == ["params"]:
        rest = rest[1:]
    parts: list[list[str]] = [[]]
    for word in rest:
        if word in SECTIONS:
            parts.append([word])
        else:
            parts[-1].append(word)
    operations: list[tuple[str, dict[str, str]]] = []
    meta: dict[str, str] = {}
    clone = None
    for part in parts[1:]:
        if part[0] == "op":
            operations += _operations(part[1:])
        elif part[0] == "meta":
            meta |= _pairs(part[1:])
        else:
            clone = _pairs(part[2:])
    return Resource(name, _pairs(parts[0]), operations, meta, clone)


def _operations(words: list[str]) -> list[tuple[str, dict[str, str]]]:
    """pcs takes several after one `op`."""
    found: list[tuple[str, dict[str, str]]] = []
    for word in words:
        if "=" in word:
            found[-1][1].update(_pairs([word]))
        else:
            found.append((word, {}))
    return found


def _pairs(words: list[str]) -> dict[str, str]:
    return {name: value for name, _, value in (word.partition("=") for word in words)}
