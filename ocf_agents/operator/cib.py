# SPDX-License-Identifier: Apache-2.0
"""The cluster's configuration (CIB) as far as an operator's questions need it. Pure: XML text in, values out.

Templates, groups, clones and references (`id-ref`) are followed. Sets of parameters with a rule hold on
some nodes or at some times only: they are left out, and `has_rules` tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree import ElementTree

from ocf_agents.ocf.errors import BadParameter
from ocf_agents.ocf.parameters import TRUE_WORDS, Duration, Parameter

Element = ElementTree.Element
_TIME = Parameter("time", Duration)


class NotACib(Exception):
    """The text is no CIB; one line says why."""


class Operation(NamedTuple):
    """One `op`: seconds; `timeout` None where nothing says one. `level`: its OCF_CHECK_LEVEL.

    `is_idle`: Pacemaker never runs it on a resource that runs. `on_fail`: empty where nothing says it.
    """

    name: str
    interval: float
    timeout: float | None
    level: int
    is_idle: bool = False
    on_fail: str = ""


@dataclass(frozen=True)
class Configured:
    """One primitive. `clone`: the id of its clone, `clone_meta` that one's meta attributes."""

    name: str
    standard: str
    provider: str
    type: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    operations: tuple[Operation, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    clone: str | None = None
    clone_meta: Mapping[str, str] = field(default_factory=dict)
    has_rules: bool = False

    @property
    def is_unique(self) -> bool:
        """Whether its instances have names of their own (`name:0`)."""
        return is_true(self.clone_meta.get("globally-unique"))


@dataclass(frozen=True)
class Cluster:
    """The whole configuration. `followed`: ids of resources that an order or colocation speaks of."""

    resources: tuple[Configured, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    followed: frozenset[str] = frozenset()


def is_true(text: str | None) -> bool:
    """As Pacemaker reads a boolean."""
    return (text or "").strip().lower() in TRUE_WORDS


def parse(text: str) -> Cluster:
    """The configuration in a CIB. Raises NotACib."""
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 (expat expands nothing external)
    except (ElementTree.ParseError, ValueError) as error:
        raise NotACib(f"no XML: {error}") from None
    configuration = root.find("configuration") if root.tag == "cib" else None
    if configuration is None:
        raise NotACib(f"its outermost element is {root.tag[:40]!a}, or has no configuration")
    return _Reader(configuration).cluster()


class _Reader:
    def __init__(self, configuration: Element) -> None:
        self._top = configuration
        self._by_id = {one.get("id", ""): one for one in configuration.iter() if one.get("id")}
        self._meta = self._defaults("rsc_defaults")
        self._op_defaults = self._defaults("op_defaults")
        self._op_timeout = _seconds(self._op_defaults.get("timeout"))

    def cluster(self) -> Cluster:
        found = [self._primitive(chain) for chain in self._primitives()]
        return Cluster(tuple(found), self._options(), frozenset(self._followed()))

    def _primitives(self) -> Iterator[list[Element]]:
        """Each primitive with what it lies in, the innermost first."""
        resources = self._top.find("resources")
        waiting = [[one] for one in resources] if resources is not None else []
        while waiting:
            chain = waiting.pop(0)
            if chain[0].tag == "primitive":
                yield chain
            elif chain[0].tag in ("group", "clone", "master", "bundle"):
                waiting += [[child, *chain] for child in chain[0]]

    def _primitive(self, chain: list[Element]) -> Configured:
        own = chain[0]
        template = self._by_id.get(own.get("template", ""))
        layers = [one for one in (template, own) if one is not None]
        clone = next((one for one in chain if one.tag in ("clone", "master", "bundle")), None)
        sets = [one for layer in layers for one in self._sets(layer, "instance_attributes")]
        described = template if template is not None and not own.get("type") else own
        return Configured(
            name=own.get("id", ""),
            standard=described.get("class", ""),
            provider=described.get("provider", ""),
            type=described.get("type", ""),
            parameters=self._pairs(sets),
            operations=tuple(self._operations(layers)),
            meta={**self._meta, **self._meta_of([*reversed(chain[1:]), *layers])},
            clone=clone.get("id") if clone is not None else None,
            clone_meta={} if clone is None else self._meta_of([clone]),
            has_rules=any(one.find("rule") is not None for one in sets),
        )

    def _meta_of(self, elements: list[Element]) -> dict[str, str]:
        return self._pairs([one for element in elements for one in self._sets(element, "meta_attributes")])

    def _sets(self, element: Element, tag: str) -> list[Element]:
        """The sets of an element in rising precedence: the highest score last, the first of equals last."""
        found = [self._referred(one) for one in element.findall(tag)]
        return sorted(reversed(found), key=lambda one: _score(one.get("score")))

    def _pairs(self, sets: list[Element]) -> dict[str, str]:
        pairs = (
            self._referred(pair) for one in sets if one.find("rule") is None for pair in one.findall("nvpair")
        )
        return {pair.get("name", ""): pair.get("value", "") for pair in pairs}

    def _operations(self, layers: list[Element]) -> Iterator[Operation]:
        """A primitive's own operations, and those of its template that it does not have itself.

        Without idle ones: `pcs resource unmanage --monitor` leaves a monitor behind that is not enabled.
        """
        found: dict[tuple[str, float], Operation] = {}
        for layer in layers:
            for holder in layer.findall("operations"):
                for one in self._referred(holder).findall("op"):
                    operation = self._operation(self._referred(one))
                    found[operation.name, operation.interval] = operation
        yield from (one for one in found.values() if not one.is_idle)

    def _operation(self, element: Element) -> Operation:
        inner = self._pairs(self._sets(element, "instance_attributes"))
        said = {**self._meta_of([element]), **inner, **element.attrib}
        timeout = _seconds(said.get("timeout"))
        return Operation(
            said.get("name", ""),
            _seconds(said.get("interval")) or 0.0,
            self._op_timeout if timeout is None else timeout,
            _level(inner.get("OCF_CHECK_LEVEL") or element.get("OCF_CHECK_LEVEL")),
            said.get("name") == "monitor"
            and (said.get("role") == "Stopped" or not is_true(said.get("enabled", "true"))),
            said.get("on-fail", self._op_defaults.get("on-fail", "")).strip().lower(),
        )

    def _defaults(self, section: str) -> dict[str, str]:
        element = self._top.find(section)
        return {} if element is None else self._meta_of([element])

    def _options(self) -> dict[str, str]:
        element = self._top.find("crm_config")
        return {} if element is None else self._pairs(self._sets(element, "cluster_property_set"))

    def _followed(self) -> Iterator[str]:
        for tag in ("rsc_order", "rsc_colocation"):
            for element in self._top.iter(tag):
                names = (element.get(name) for name in ("first", "then", "rsc", "with-rsc"))
                yield from (name for name in names if name)
                yield from (one.get("id", "") for one in element.iter("resource_ref"))

    def _referred(self, element: Element) -> Element:
        return self._by_id.get(element.get("id-ref", ""), element)


def _seconds(text: str | None) -> float | None:
    try:
        return float(_TIME.parse(text)) if text else None
    except BadParameter:
        return None


def _level(text: str | None) -> int:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _score(text: str | None) -> float:
    infinite = {"INFINITY": 1e6, "+INFINITY": 1e6, "-INFINITY": -1e6}
    try:
        return infinite[text] if text in infinite else float(text or 0)
    except ValueError:
        return 0.0
