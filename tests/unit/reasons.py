# SPDX-License-Identifier: Apache-2.0
"""The reasons that the code can print, as it spells them: `...` stands for what differs from case to case."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "ocf_agents"
ROOMS = ("actions", "service", "openstack", "guard", "ocf")
FIRST = {
    "BadArguments",
    "BadConfiguration",
    "Degraded",
    "DegradedPromoted",
    "FailedPromoted",
    "Failure",
    "GenericError",
    "LockBusy",
    "NotConfigured",
    "NotInstalled",
    "NotRunning",
    "OcfError",
    "PermissionDenied",
    "StoreError",
    "Unimplemented",
}
"""Errors whose first argument becomes an exit reason, or the end of one."""

SECOND = {"Conclusion", "Health", "Pong", "Seen"}
TABLES = {"FAILED"}
"""Dictionaries whose values do."""

GAP = "..."


def reasons() -> dict[str, str]:
    """Each reason, and where it is. One without a word of its own (`...: ...`) is none."""
    return {
        text: f"{path.relative_to(PACKAGE)}:{line}"
        for room in ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for line, text in _texts(ast.parse(path.read_text(encoding="utf-8")))
        if len(re.findall(r"[A-Za-z]{2,}", text)) >= 2
    }


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        for part in _parts(node):
            text = _spelt(part)
            if text is not None:
                yield part.lineno, text


def _parts(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
        if name in FIRST:
            return node.args[:1]
        return node.args[1:2] if name in SECOND and not _is_good(node) else []
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        return node.value.values if names & TABLES else []
    return []


def _is_good(node: ast.Call) -> bool:
    """A start that succeeded, a health that fails nothing: no exit reason."""
    first = node.args[0] if node.args else None
    is_true = isinstance(first, ast.Constant) and first.value is True
    return is_true or (isinstance(first, ast.Name) and first.id in ("UP", "UNKNOWN", "ANSWERED", "REPORTED"))


def _spelt(part: ast.expr) -> str | None:
    if isinstance(part, ast.Constant) and isinstance(part.value, str):
        return part.value
    if isinstance(part, ast.JoinedStr):
        pieces = [one.value if isinstance(one, ast.Constant) else GAP for one in part.values]
        return "".join(str(piece) for piece in pieces)
    return None
