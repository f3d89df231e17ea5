# SPDX-License-Identifier: Apache-2.0
"""Run the rules on an agent, one after the other; at the end its resource is stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Callable

from .rule import (
    FAILED,
    NOT_APPLICABLE,
    PASSED,
    Failed,
    NotApplicable,
    Result,
    Rule,
    ended,
    named,
    one_line,
    said,
)
from .rules import RULES
from .subject import ACTIVE, Settings, Subject, opened

LAST_WAIT_SECONDS = 10.0


class BadUse(Exception):
    """The check makes no sense as asked for; the argument is one line that says what to do."""


@dataclass(frozen=True)
class Report:
    """What came of all rules. leftover: what is wrong with the end, or an empty text."""

    path: str
    results: tuple[Result, ...]
    leftover: str
    seconds: float

    def count(self, state: str) -> int:
        return sum(result.state == state for result in self.results)

    @property
    def is_success(self) -> bool:
        return not self.leftover and self.count(FAILED) == 0


def choose(
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    *,
    strict: bool = False,
    harmless: bool = False,
    rules: Iterable[Rule] = RULES,
) -> list[Rule]:
    """The rules to run. only, skip: ids or groups; an id in `only` needs no strict. Raises BadUse."""
    rules = list(rules)
    known = {rule.id for rule in rules} | {rule.group for rule in rules}
    for name in (*only, *skip):
        if name not in known:
            raise BadUse(f"there is no rule and no group {name!r}: --list shows them")
    chosen = []
    for rule in rules:
        is_wanted = not only or rule.id in only or rule.group in only
        is_in_force = strict or not rule.is_strict or rule.id in only
        is_left_out = rule.id in skip or rule.group in skip or (harmless and not rule.is_harmless)
        if is_wanted and is_in_force and not is_left_out:
            chosen.append(rule)
    if not chosen:
        raise BadUse("no rule is left to run")
    return chosen


def check(
    settings: Settings,
    rules: Sequence[Rule] | None = None,
    *,
    force: bool = False,
    tell: Callable[[Result], None] = lambda result: None,
) -> Report:
    """Run these rules, by default all that are not strict. tell: is told each result as it comes.

    force: stop a resource that runs already. Raises BadUse.
    """
    chosen = list(choose() if rules is None else rules)
    begin = time.monotonic()
    results = []
    with session(settings, needs_resource=any(not rule.is_harmless for rule in chosen), force=force) as one:
        for rule in chosen:
            result = try_rule(rule, one.subject)
            results.append(result)
            tell(result)
    return Report(str(settings.path), tuple(results), one.leftover, time.monotonic() - begin)


@dataclass
class Session:
    """A subject whose resource may be started; leftover is known at the end."""

    subject: Subject
    leftover: str = ""


@contextmanager
def session(settings: Settings, *, needs_resource: bool, force: bool = False) -> Iterator[Session]:
    """A subject for rules; at the end its resource is stopped and its processes are gone. Raises BadUse."""
    look_at(settings)
    with opened(settings) as subject:
        here = Session(subject)
        if not needs_resource:
            yield here
            return
        begin(subject, force)
        try:
            yield here
        finally:
            here.leftover = finish(subject)


def look_at(settings: Settings) -> None:
    path = settings.path
    if not path.is_file():
        raise BadUse(f"{path} is no file: give the path of a resource agent")
    if not os.access(path, os.X_OK):
        raise BadUse(f"{path} may not be run: chmod 0755 {path}")


def begin(subject: Subject, force: bool) -> None:
    """Refuse a resource that runs, and parameters that cannot work."""
    try:
        declared = {one.name: one for one in subject.document.parameters}
    except NotApplicable:
        declared = {}
    needed = [one for one in declared.values() if one.is_required and one.default is None]
    unknown = [name for name in subject.settings.secrets if name not in declared]
    if unknown:
        raise BadUse(f"{subject.path.name} has no parameter {unknown[0]}, so it cannot be a secret")
    lacking = [one.name for one in needed if one.name not in subject.parameters]
    if lacking:
        raise BadUse(
            f"{subject.path.name} requires the parameter {lacking[0]}: give -o {lacking[0]}=VALUE,"
            " or check the meta-data alone with --meta-data"
        )
    ran = subject.probe()
    if ran.code in ACTIVE and not force:
        raise BadUse(
            f"the resource runs already (a probe returned {named(ran.code)}):"
            " stop it, or let it be stopped with --force"
        )
    if ran.code in ACTIVE:
        subject.stop_somehow()


def finish(subject: Subject) -> str:
    """Stop the resource; what is wrong then, on one line."""
    ran = subject.stop_somehow()
    after = subject.monitor()
    if after.code != 7:
        return one_line(
            f"at the end the resource is not stopped: stop {ended(ran)}, monitor {ended(after)}{said(after)}"
        )
    subject.await_helpers(LAST_WAIT_SECONDS)
    left = subject.settle((), LAST_WAIT_SECONDS)
    return f"at the end {left[0]} lived, and was killed" if left else ""


def try_rule(rule: Rule, subject: Subject) -> Result:
    """Try one rule. What it leaves when it fails is ended, so that the next one finds no trace of it."""
    start = time.monotonic()
    state, text = PASSED, ""
    try:
        rule.function(subject)
    except Failed as failure:
        state, text = FAILED, one_line(str(failure))
        if not rule.is_harmless:
            subject.clean()
    except NotApplicable as excuse:
        state, text = NOT_APPLICABLE, one_line(str(excuse))
    return Result(rule, state, text, time.monotonic() - start)


__all__ = ["BadUse", "Report", "Session", "Settings", "check", "choose", "session", "try_rule"]
