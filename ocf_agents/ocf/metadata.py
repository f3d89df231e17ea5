# SPDX-License-Identifier: Apache-2.0
"""The agent's declaration as OCF metadata: for `meta-data` only, pure ASCII.

Two dialects. A caller that says OCF 1.1 gets what the 1.1 schema allows (`select`, `unique-group`,
`reloadable`, `deprecated`, `reload-agent`). Who says nothing (ocf-tester, a shell) gets 1.0 in the
form that the DTD of resource-agents accepts, which refuses all of those.

Escaping is done here because the standard library's escaper costs more to import than all the
rest of a meta-data run.
"""

from __future__ import annotations

from .parameters import Select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .agent import Action, Agent
    from .parameters import Parameter

DOCTYPE = '<!DOCTYPE resource-agent SYSTEM "ra-api-1.dtd">\n'
ONLY_IN_1_1 = ("reload-agent",)
ROLES_IN_1_0 = {"Promoted": "Master", "Unpromoted": "Slave"}
META_DATA_TIMEOUT = 5
ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&quot;"}
IN_ATTRIBUTES = {ord("\n"): "&#10;", ord("\t"): "&#9;", ord("\r"): "&#13;"}


def render(agent: Agent, version: tuple[int, int]) -> str:
    """The metadata of `agent` for a caller of this OCF version (major 1)."""
    modern = version >= (1, 1)
    return "".join(
        [
            '<?xml version="1.0"?>\n',
            "" if modern else DOCTYPE,
            f"<resource-agent name={_quote(agent.name)} version={_quote(agent.version)}>\n",
            f"<version>{'1.1' if modern else '1.0'}</version>\n",
            _descriptions(agent.longdesc, agent.shortdesc),
            *_parameters(agent, modern),
            "<actions>\n",
            *(_action(one, modern) for one in agent.actions if modern or one.name not in ONLY_IN_1_1),
            f'<action name="meta-data" timeout="{META_DATA_TIMEOUT}s"/>\n',
            "</actions>\n</resource-agent>\n",
        ]
    )


def _parameters(agent: Agent, modern: bool) -> list[str]:
    if not agent.parameters:
        return []
    one = _parameter_1_1 if modern else _parameter_1_0
    return ["<parameters>\n", *(one(parameter) for parameter in agent.parameters), "</parameters>\n"]


def _parameter_1_1(parameter: Parameter) -> str:
    attributes = f" name={_quote(parameter.name)}"
    if parameter.unique_group is not None:
        attributes += f" unique-group={_quote(parameter.unique_group)}"
    attributes += f' required="{parameter.required:d}" reloadable="{parameter.reloadable:d}"'
    return (
        f"<parameter{attributes}>\n"
        f"{_deprecation(parameter)}"
        f"{_descriptions(parameter.longdesc, parameter.shortdesc)}"
        f"{_content(parameter)}</parameter>\n"
    )


def _deprecation(parameter: Parameter) -> str:
    if not parameter.deprecated:
        return ""
    if parameter.replaced_by is None:
        return "<deprecated/>\n"
    return f"<deprecated><replaced-with name={_quote(parameter.replaced_by)}/></deprecated>\n"


def _content(parameter: Parameter) -> str:
    head = f"<content type={_quote(parameter.type.content)}{_default(parameter)}"
    if parameter.type is not Select:
        return head + "/>\n"
    options = "".join(f"<option value={_quote(choice)}/>" for choice in parameter.choices)
    return f"{head}>{options}</content>\n"


def _parameter_1_0(parameter: Parameter) -> str:
    longdesc = parameter.longdesc or parameter.shortdesc
    content = parameter.type.content
    if parameter.type is Select:
        content = "string"
        longdesc += f"\nOne of: {', '.join(parameter.choices)}."
    if parameter.deprecated:
        instead = f": use {parameter.replaced_by}" if parameter.replaced_by else ""
        longdesc += f"\nDeprecated{instead}."
    unique = parameter.unique_group is not None
    return (
        f'<parameter name={_quote(parameter.name)} unique="{unique:d}" required="{parameter.required:d}">\n'
        f"{_descriptions(longdesc, parameter.shortdesc)}"
        f"<content type={_quote(content)}{_default(parameter)}/>\n</parameter>\n"
    )


def _default(parameter: Parameter) -> str:
    """An optional parameter without a default is said to be empty, which all of them accept."""
    if parameter.required and parameter.default is None:
        return ""
    if parameter.default is None and parameter.type.content != "string":
        return ""
    return f" default={_quote(parameter.default or '')}"


def _action(action: Action, modern: bool) -> str:
    facts = {"timeout": action.timeout, "interval": action.interval, "start-delay": action.start_delay}
    timing = "".join(f' {name}="{_seconds(value)}"' for name, value in facts.items() if value is not None)
    depth = "" if action.depth is None else f' depth="{action.depth}"'
    role = "" if action.role is None else f" role={_quote(_role(action.role, modern))}"
    return f"<action name={_quote(action.name)}{timing}{depth}{role}/>\n"


def _role(role: str, modern: bool) -> str:
    return role if modern else ROLES_IN_1_0.get(role, role)


def _seconds(value: float) -> str:
    return f"{value:g}s" if value == int(value) else f"{int(value * 1000)}ms"


def _descriptions(longdesc: str, shortdesc: str) -> str:
    """The long one first: the schema fixes the order (case 89)."""
    return (
        f'<longdesc lang="en">\n{_escape(longdesc or shortdesc)}\n</longdesc>\n'
        f'<shortdesc lang="en">{_escape(shortdesc)}</shortdesc>\n'
    )


def _escape(text: str) -> str:
    """XML 1.0 text in ASCII. Characters that XML cannot hold at all become question marks."""
    legal = "".join(c if _is_legal(ord(c)) else "?" for c in text)
    return legal.translate(ESCAPES).encode("ascii", "xmlcharrefreplace").decode("ascii")


def _is_legal(point: int) -> bool:
    return point in (9, 10, 13) or 32 <= point < 0xD800 or 0xE000 <= point < 0xFFFE or point > 0xFFFF


def _quote(text: str) -> str:
    return f'"{_escape(text).translate(IN_ATTRIBUTES)}"'
