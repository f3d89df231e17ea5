# SPDX-License-Identifier: Apache-2.0
"""A report as a table for people, as JSON, as JUnit's XML. Pure: texts in, texts out."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from .engine import Report
from .rule import FAILED, NOT_APPLICABLE, PASSED, Result, Rule

FORMAT = 1
"""Of the JSON. It changes when a field goes or means something else; new fields may come."""
NARROWEST = 40
WIDEST = 120
SIGNS = {PASSED: "ok", FAILED: "FAILED", NOT_APPLICABLE: "-"}
INDENT = "  "
MANY = 3
"""So many failures may have one cause."""


def wrap(text: str, width: int, indent: str = "", later: str = "") -> list[str]:
    """Lines of at most `width` columns, within the bounds that can be read."""
    width = max(NARROWEST, min(WIDEST, width))
    lines = textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=later, break_on_hyphens=False)
    return lines or [""]


def row(result: Result, width: int) -> list[str]:
    """One result: sign and rule, and below it what is to be said."""
    lines = [f"{SIGNS[result.state]:6} {result.rule.id}"]
    if result.state == FAILED:
        lines += wrap(result.rule.statement, width, "       ", "       ")
        lines += wrap(result.text, width, "       > ", "         ")
    elif result.state == NOT_APPLICABLE:
        lines += wrap(result.text, width, "       ", "       ")
    return lines


def summary(report: Report, width: int) -> list[str]:
    """The last lines of a report."""
    counts = ", ".join(f"{report.count(state)} {state}" for state in (PASSED, FAILED, NOT_APPLICABLE))
    lines = wrap(f"{report.path}: {counts} ({report.seconds:.1f} s)", width)
    if report.count(FAILED) >= MANY:
        lines += wrap("Begin with the first failure: others often follow from it.", width)
    return lines + (wrap(f"FAILED {report.leftover}", width) if report.leftover else [])


def list_of(rules: Iterable[Rule], width: int) -> list[str]:
    """All rules with their statements and sources."""
    lines = []
    for rule in rules:
        marks = [
            word for word, holds in (("strict", rule.is_strict), ("meta-data", rule.is_harmless)) if holds
        ]
        lines.append(rule.id + (f" ({', '.join(marks)})" if marks else ""))
        lines += wrap(rule.statement, width, INDENT, INDENT)
        lines += wrap(f"[{rule.source}]", width, INDENT, INDENT)
    return lines


def to_json(reports: Sequence[Report]) -> str:
    """`{"format": 1, "agents": [{"path", "success", "seconds", "leftover", "results": [...]}]}`.

    A result is `{"rule", "statement", "source", "strict", "state", "text", "seconds"}`; `state` is `passed`,
    `failed` or `not applicable`.
    """
    agents = [
        {
            "path": report.path,
            "success": report.is_success,
            "seconds": round(report.seconds, 3),
            "leftover": report.leftover,
            "results": [fields(result) for result in report.results],
        }
        for report in reports
    ]
    return json.dumps({"format": FORMAT, "agents": agents}, indent=1)


def fields(result: Result) -> dict[str, object]:
    return {
        **rule_fields(result.rule),
        "state": result.state,
        "text": result.text,
        "seconds": round(result.seconds, 3),
    }


def rule_fields(rule: Rule) -> dict[str, object]:
    return {
        "rule": rule.id,
        "statement": rule.statement,
        "source": rule.source,
        "strict": rule.is_strict,
        "meta_data_only": rule.is_harmless,
    }


def list_to_json(rules: Iterable[Rule]) -> str:
    """`{"format": 1, "rules": [{"rule", "statement", "source", "strict", "meta_data_only"}]}`."""
    return json.dumps({"format": FORMAT, "rules": [rule_fields(rule) for rule in rules]}, indent=1)


def to_junit(reports: Sequence[Report]) -> str:
    """JUnit's XML: a suite for each agent, a test case for each rule; what is not applicable is skipped."""
    suites = ElementTree.Element("testsuites")
    for report in reports:
        suites.append(suite(report))
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"
    )


def suite(report: Report) -> ElementTree.Element:
    ending = [report.leftover] if report.leftover else []
    element = ElementTree.Element(
        "testsuite",
        name=report.path,
        tests=str(len(report.results) + len(ending)),
        failures=str(report.count(FAILED) + len(ending)),
        errors="0",
        skipped=str(report.count(NOT_APPLICABLE)),
        time=f"{report.seconds:.3f}",
    )
    for result in report.results:
        case = case_of(element, report.path, result.rule.id, result.seconds)
        if result.state == FAILED:
            failure = ElementTree.SubElement(case, "failure", message=result.text)
            failure.text = f"{result.rule.statement}\n{result.text}\n{result.rule.source}"
        elif result.state == NOT_APPLICABLE:
            ElementTree.SubElement(case, "skipped", message=result.text)
    for text in ending:
        ElementTree.SubElement(case_of(element, report.path, "end", 0.0), "failure", message=text)
    return element


def case_of(parent: ElementTree.Element, path: str, name: str, seconds: float) -> ElementTree.Element:
    return ElementTree.SubElement(parent, "testcase", classname=path, name=name, time=f"{seconds:.3f}")
