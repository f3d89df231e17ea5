# SPDX-License-Identifier: Apache-2.0
"""The command `ocf-agents` on a node, and what it has said."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from labkit.node import CHECKOUT, Node

FROM_SOURCE = ("python3", "-m", "ocf_agents.cli.main")
INSTALLED = ("ocf-agents",)


@dataclass(frozen=True)
class Said:
    """Exit code, words, complaints. By name: a fact of the only resource or host."""

    code: int
    text: str
    errors: str

    def __getitem__(self, name: str) -> str:
        found = [line.strip() for line in self.text.splitlines() if line.startswith(f"  {name} ")]
        assert len(found) == 1, f"{name}: {self.text}{self.errors}"
        return found[0].removeprefix(name).strip()

    @property
    def title(self) -> str:
        return self.text.splitlines()[0]


def command(node: Node, *words: str, code: int = 0, program: tuple[str, ...] = FROM_SOURCE) -> Said:
    """Type it; it must end with that code. From the source it is called as README says."""
    environ = {"PYTHONPATH": str(CHECKOUT)} if program == FROM_SOURCE else {}
    done = node.run(*program, *words, check=False, environ=environ)
    said = Said(done.returncode, done.stdout, done.stderr)
    assert said.code == code, f"{words}: {said}"
    assert "Traceback" not in said.errors
    return said


@dataclass(frozen=True)
class Opinion:
    """What doctor says: each problem and warning as `what: text`."""

    code: int
    problems: list[str]
    warnings: list[str]


def opinion(node: Node) -> Opinion:
    done = node.run(*FROM_SOURCE, "doctor", "--json", check=False, environ={"PYTHONPATH": str(CHECKOUT)})
    found: list[dict[str, Any]] = [
        one for chapter in json.loads(done.stdout)["chapters"] for one in chapter["findings"]
    ]

    def of(level: str) -> list[str]:
        return [f"{one['what']}: {one['text']}" for one in found if one["level"] == level]

    return Opinion(done.returncode, of("problem"), of("warning"))
