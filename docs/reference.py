# SPDX-License-Identifier: Apache-2.0
"""`python3 docs/reference.py`: writes docs/reference.md, from the docstrings of what is public.

`python3 docs/reference.py --check`: exit code 1 when the page is not what the docstrings say.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference.md"
PUBLIC = {
    "For every agent": "ocf: agent parameters errors codes environment deadline log"
    " clone notification migration attributes libraries",
    "For an agent that runs a process": "service: command process supervisor proc",
    "For its tests": "testing: run node compute_api message_bus",
}
HEAD = """\
# Reference

What other people's agents and tests may use; made from the docstrings by `docs/reference.py`. The names
here keep their meaning within one major version of the package; what begins with an underscore, or is not
here, may change with any version.
Begin with [the guide](authors.md).
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, rooms in PUBLIC.items():
        parts.append(f"\n# {title}\n")
        room, _, names = rooms.partition(":")
        parts += [_module(room, name) for name in names.split()]
    return "".join(parts)


def _module(room: str, name: str) -> str:
    path = ROOT / "ocf_agents" / room / f"{name}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = [f"\n## ocf_agents.{room}.{name}\n\n{_text(tree)}"]
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            parts.append(_class(node))
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            parts.append(f"\n### `{node.name}({_arguments(node)})`\n\n{_text(node)}")
    return "".join(parts)


def _class(node: ast.ClassDef) -> str:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
    made = next((f"({_arguments(method)})" for method in methods if method.name == "__init__"), "")
    head = f"\n### class `{node.name}{made}`{f', a {bases}' if bases else ''}\n\n{_text(node)}"
    shown = [method for method in methods if not method.name.startswith("_") and ast.get_docstring(method)]
    return head + "".join(_method(method) for method in shown)


def _method(node: ast.FunctionDef) -> str:
    is_property = any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list)
    call = "" if is_property else f"({_arguments(node)})"
    lines = _text(node).strip().splitlines()
    return "\n".join(
        [f"\n- `{node.name}{call}`: {lines[0]}", *(f"  {line}".rstrip() for line in lines[1:]), ""]
    )


def _arguments(node: ast.FunctionDef) -> str:
    arguments = [one for one in node.args.args if one.arg not in ("self", "cls")]
    copy = ast.arguments(
        posonlyargs=[],
        args=arguments,
        vararg=node.args.vararg,
        kwonlyargs=node.args.kwonlyargs,
        kw_defaults=node.args.kw_defaults,
        kwarg=node.args.kwarg,
        defaults=node.args.defaults,
    )
    return ast.unparse(copy)


def _text(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> str:
    return (ast.get_docstring(node) or "").strip() + "\n"


def main(*arguments: str) -> int:
    """Writes the page, or compares it."""
    if "--check" in arguments:
        return int(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
