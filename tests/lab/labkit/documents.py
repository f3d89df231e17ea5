# SPDX-License-Identifier: Apache-2.0
"""The cluster configurations in the project's own documents, as a reader would type them.

A document is Markdown with indented or fenced blocks, or a file of commands. What is taken: the commands of
pcs and crm that mark a node, those of pcs that add something to the configuration, and crmsh's definitions.
Another resource of a name that was there already begins another configuration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from labkit.layout import REPO

MARK = re.compile(r"(pcs|crm) node attribute ")
PCS = re.compile(
    r"pcs (resource (create (?P<name>\S+)|op add|update|meta|clone|group|enable)|constraint|property) "
)
CRMSH = re.compile(r"(primitive (?P<name>\S+)|clone|group|ms|location|colocation|order|property) ")
MORE = re.compile(r"op \w+ ")
COMMENT = re.compile(r"\s+# .*")
NODE = re.compile(r"\bcmp-\d+\b")
CLOUD = re.compile(r"\bcloud=\S+")


@dataclass
class Configuration:
    """`marks` and, for pcs, `commands` are shell commands; for crmsh `commands` are its definitions."""

    document: str
    tool: str
    marks: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        return f"{self.document}-{self.tool}"

    @property
    def is_whole(self) -> bool:
        """It makes a resource; else it is a piece of advice for one that is there."""
        return bool(self.names)

    def is_part_of(self, other: Configuration) -> bool:
        """Each line of its commands is in the other's."""
        mine, theirs = (set("\n".join(one.commands).splitlines()) for one in (self, other))
        return self.tool == other.tool and mine <= theirs

    def fitted(self, node: str, parameters: Mapping[str, str]) -> Configuration:
        """The lab's node for each hypervisor of the document, the lab's parameters for its cloud."""
        given = " ".join(f"{name}={value}" for name, value in parameters.items())

        def fit(text: str) -> str:
            return NODE.sub(node, CLOUD.sub(given, text))

        return Configuration(
            self.document, self.tool, [*map(fit, self.marks)], [*map(fit, self.commands)], self.names
        )


def configurations(document: str) -> list[Configuration]:
    """What a document of the repository says to type; `FILE#HEADING` is one section of it."""
    file, _, heading = document.partition("#")
    lines = (REPO / file).read_text(encoding="utf-8").splitlines()
    if heading:
        lines = _section(lines, heading)
    found: dict[str, list[Configuration]] = {}
    marks: dict[str, list[str]] = {"pcs": [], "crm": []}
    for command in _commands(_blocks(lines) if Path(file).suffix == ".md" else lines):
        if MARK.match(command):
            marks[command.split()[0]].append(command)
        elif match := PCS.match(command):
            _into(found, document, "pcs", match["name"]).commands.append(command)
        elif match := CRMSH.match(command):
            _into(found, document, "crmsh", match["name"]).commands.append(command)
        elif MORE.match(command) and "crmsh" in found:
            _lengthen(found["crmsh"][-1], command)
    every = [one for several in found.values() for one in several if one.is_whole]
    for one in every:
        one.marks = marks["pcs" if one.tool == "pcs" else "crm"]
    return every


def _into(found: dict[str, list[Configuration]], document: str, tool: str, name: str | None) -> Configuration:
    """The configuration that a command belongs to."""
    several = found.setdefault(tool, [Configuration(document, tool)])
    if name is not None:
        if name in several[-1].names:
            several.append(Configuration(document, tool))
        several[-1].names.add(name)
    return several[-1]


def _lengthen(configuration: Configuration, line: str) -> None:
    """One more operation of its last primitive, beside the others: crmsh takes none after `meta`."""
    last = max(i for i, one in enumerate(configuration.commands) if one.startswith("primitive "))
    lines = configuration.commands[last].split(" \\\n")
    operations = [i for i, one in enumerate(lines) if MORE.match(one.strip())]
    lines.insert(max(operations, default=len(lines) - 1) + 1, f"    {line}")
    configuration.commands[last] = " \\\n".join(lines)


def _section(lines: list[str], heading: str) -> list[str]:
    """The lines below a heading, up to the next one of any level."""
    [begin] = [i for i, line in enumerate(lines) if re.fullmatch(rf"#+ {re.escape(heading)}", line)]
    ends = (i for i in range(begin + 1, len(lines)) if lines[i].startswith("#"))
    return lines[begin + 1 : next(ends, len(lines))]


def _blocks(lines: list[str]) -> Iterator[str]:
    """The lines of Markdown's code blocks, without their indentation."""
    is_fenced = False
    for line in lines:
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        elif is_fenced:
            yield line
        elif line.startswith("    "):
            yield line[4:]


def _commands(lines: Iterator[str] | list[str]) -> Iterator[str]:
    """Commands that go on after a backslash are one; comments are left out."""
    waiting: list[str] = []
    for line in lines:
        waiting.append(COMMENT.sub("", line).rstrip().removeprefix("$ "))
        if not waiting[-1].endswith("\\"):
            yield "\n".join(waiting).strip()
            waiting = []
