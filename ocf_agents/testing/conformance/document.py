# SPDX-License-Identifier: Apache-2.0
"""Meta-data as it was read: parameters and actions. Pure; says what is wrong with a document's structure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

BOOLEANS = ("0", "1")
TYPES_1_0 = ("string", "integer", "boolean", "time", "second", "select")
"""`time` is in the DTD of resource-agents, `second` and `select` in its RNG."""
TYPES_1_1 = ("string", "integer", "boolean", "select")
ATTRIBUTES_1_0 = ("name", "unique", "required")
ATTRIBUTES_1_1 = (*ATTRIBUTES_1_0, "unique-group", "reloadable")
ACTION_ATTRIBUTES = ("name", "timeout", "interval", "start-delay", "role", "depth")
SECRET_NAME = re.compile(
    r"passw(or)?d|passphrase|pwd|(^|_)pass(_|$)|secret|token|credential|community|(api|private|access|auth)_?key",
    re.I,
)
NOT_SECRET_NAME = re.compile(r"(file|path|dir|directory|timeout|interval|ttl|type|url|endpoint|count)$", re.I)
"""Of a parameter that says where a secret lies or how it is used, and holds none."""
UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "ms": 0.001, "msec": 0.001, "us": 1e-6, "usec": 1e-6}
UNITS.update({"m": 60.0, "min": 60.0, "h": 3600.0, "hr": 3600.0})


class NoDocument(Exception):
    """The text is no meta-data at all; the argument says why."""


@dataclass(frozen=True)
class Parameter:
    """A parameter as advertised. `default` is None when there is none."""

    name: str
    type: str
    default: str | None
    is_required: bool
    options: tuple[str, ...]
    is_reloadable: bool = False

    @property
    def is_secret(self) -> bool:
        """True if it is named like something that nobody may see."""
        is_text = self.type in ("string", "")
        return is_text and bool(SECRET_NAME.search(self.name)) and not NOT_SECRET_NAME.search(self.name)


@dataclass(frozen=True)
class Action:
    """An action as advertised, with its times as texts."""

    name: str
    timeout: str
    interval: str
    depth: str
    role: str


class Document:
    """The meta-data of an agent. Raises NoDocument."""

    def __init__(self, text: str) -> None:
        self.root = parse(text)
        self.name = self.root.get("name", "")
        self.version = (self.root.findtext("version") or "").strip()
        self.parameters = tuple(parameter(one) for one in self.root.iterfind("parameters/parameter"))
        self.actions = tuple(action(one) for one in self.root.iterfind("actions/action"))

    @property
    def is_1_1(self) -> bool:
        """True if it says that it is of OCF 1.1."""
        return self.version == "1.1"

    @property
    def action_names(self) -> tuple[str, ...]:
        """The actions, each once."""
        return tuple(dict.fromkeys(one.name for one in self.actions))

    def timeout(self, name: str) -> float | None:
        """The longest advised timeout of an action in seconds, None if it has none that can be read."""
        found = [seconds(one.timeout) for one in self.actions if one.name == name]
        return max((one for one in found if one), default=None)


def parse(text: str) -> ElementTree.Element:
    """The document's root. Raises NoDocument."""
    if not text.strip():
        raise NoDocument("stdout is empty")
    try:
        data = text.encode("utf-8", "surrogateescape")
        root = ElementTree.fromstring(data)  # noqa: S314 (an agent that is run can do worse than bad XML)
    except ElementTree.ParseError as error:
        raise NoDocument(f"it is no well-formed XML: {error}") from None
    if root.tag != "resource-agent":
        raise NoDocument(f"its root is <{root.tag}>, not <resource-agent>")
    return root


def parameter(element: ElementTree.Element) -> Parameter:
    content = element.find("content")
    if content is None:
        content = ElementTree.Element("content")
    return Parameter(
        element.get("name", ""),
        content.get("type", ""),
        content.get("default"),
        element.get("required") == "1",
        tuple(option.get("value", "") for option in content.iterfind("option")),
        element.get("reloadable") == "1",
    )


def action(element: ElementTree.Element) -> Action:
    keys = ("name", "timeout", "interval", "depth", "role")
    return Action(*(element.get(key, "") for key in keys))


def seconds(text: str) -> float | None:
    """A duration as Pacemaker reads it: `20`, `20s`, `20000ms`, `1m`; None of what it cannot read."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text, re.I | re.A)
    if match is None or match[2].lower() not in UNITS:
        return None
    return float(match[1]) * UNITS[match[2].lower()]


def structure(root: ElementTree.Element) -> Iterator[str]:
    """What is not as the schema of its own version has it, a line for each fault.

    The schemas are those of the OCF specification (1.1), and the DTD and RNG of resource-agents (1.0).
    """
    is_1_1 = (root.findtext("version") or "").strip() == "1.1"
    yield from order(
        root, "version longdesc* shortdesc* parameters actions special?" if is_1_1 else OUTSIDE_1_0
    )
    yield from attributes(root, ("name",), ("version",))
    for element in root.iterfind("version"):
        yield from attributes(element, (), ())
    yield from languages(root, is_1_1)
    for element in root.iterfind("parameters"):
        yield from order(element, "parameter+" if is_1_1 else "parameter*")
    for element in root.iterfind("parameters/parameter"):
        yield from parameter_structure(element, is_1_1)
    for element in root.iterfind("actions"):
        yield from order(element, "action+")
    for element in root.iterfind("actions/action"):
        yield from attributes(
            element, ("name", "timeout"), tuple(name for name in ACTION_ATTRIBUTES if name != "name")
        )


OUTSIDE_1_0 = "version longdesc shortdesc parameters? actions"


def parameter_structure(element: ElementTree.Element, is_1_1: bool) -> Iterator[str]:
    yield from order(element, f"{'deprecated? ' if is_1_1 else ''}longdesc+ shortdesc+ content")
    allowed = ATTRIBUTES_1_1 if is_1_1 else ATTRIBUTES_1_0
    yield from attributes(element, ("name",), allowed)
    for name in ("unique", "required", "reloadable"):
        if element.get(name, "0") not in BOOLEANS:
            yield f"{label(element)}: {name} is {element.get(name)!r}, not 0 or 1"
    yield from languages(element, is_1_1)
    content = element.find("content")
    if content is None:
        return
    yield from attributes(content, ("type",), ("default",), label(element))
    types = TYPES_1_1 if is_1_1 else TYPES_1_0
    if content.get("type") not in types:
        yield f"{label(element)}: its type is {content.get('type')!r}, not one of {', '.join(types)}"
    is_select = content.get("type") == "select"
    pattern = ("option+" if is_1_1 else "option*") if is_select else ""
    yield from order(content, pattern, label(element))


def languages(element: ElementTree.Element, is_1_1: bool) -> Iterator[str]:
    for child in element:
        if child.tag in ("longdesc", "shortdesc"):
            if is_1_1 and "lang" not in child.attrib:
                yield f"{label(element)}: <{child.tag}> has no lang"
            yield from attributes(child, (), ("lang",), label(element))


def attributes(
    element: ElementTree.Element, needed: tuple[str, ...], allowed: tuple[str, ...], where: str = ""
) -> Iterator[str]:
    place = where or label(element)
    for name in needed:
        if name not in element.attrib:
            yield f"{place}: <{element.tag}> has no attribute {name}"
    for name in element.attrib:
        if name not in (*needed, *allowed):
            yield f"{place}: <{element.tag}> has an attribute {name}, which its OCF version does not know"


def order(element: ElementTree.Element, pattern: str, where: str = "") -> Iterator[str]:
    """The children in this order: names with `?`, `*` or `+`, as in a DTD."""
    expression = "".join(
        f"(?:<{name}>){count}"
        for name, count in (re.fullmatch(r"([\w-]+)([?*+]?)", word).groups() for word in pattern.split())  # type: ignore[union-attr]
    )
    found = "".join(f"<{child.tag}>" for child in element)
    if re.fullmatch(expression, found) is None:
        has = (", ".join(child.tag for child in element) or "nothing")[:120]
        wanted = pattern or "nothing"
        yield f"{where or label(element)}: <{element.tag}> holds {has}; expected: {wanted}"


def label(element: ElementTree.Element) -> str:
    """How an element is called in a message."""
    return f"{element.tag} {element.get('name')}" if element.get("name") else element.tag
