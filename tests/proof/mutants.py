# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501 (source text, line for line)
"""Guards with one fault each, made from the real source when it is loaded, in an interpreter of their own.

Each must be caught by the search. A patch that does not fit the source any more is an error.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any, NamedTuple

PACKAGE = "ocf_agents.guard"


class Patch(NamedTuple):
    """In one module of the guard, `old` (which is there exactly once) becomes `new`."""

    module: str
    old: str
    new: str


class Mutant(NamedTuple):
    """A fault, in words, and the worlds that are searched for it, in this order."""

    name: str
    patches: tuple[Patch, ...]
    worlds: tuple[str, ...]


def mutant(name: str, worlds: str, *patches: tuple[str, str, str]) -> Mutant:
    return Mutant(name, tuple(Patch(*patch) for patch in patches), tuple(worlds.split()))


ATTEMPT_ON_RECORD = (
    "return replace(record, attempts=(*record.attempts, attempt)), Decision(TO_SEND, judged, status, attempt)"
)
GUARD_NEXT = "record = replace(record, generation=generation + 1, want=want, stopped=None)"

MUTANTS = (
    mutant("the record's bytes are not fsynced", "power", ("store", "            os.fsync(file)\n", "")),
    mutant("the directory is not fsynced", "power", ("store", "        os.fsync(folder)\n", "")),
    mutant("the record is written in place", "power", ("store", 'beside = f"{name}.new"', "beside = name")),
    mutant("no lock", "races", ("store", ", self._locked(folder, timeout):", ":")),
    mutant(
        "no attempt is written",
        "calm",
        ("reading", ATTEMPT_ON_RECORD, "return record, Decision(TO_SEND, judged, status, attempt)"),
    ),
    mutant(
        "the attempt is written after the send",
        "calm",
        ("reading", ATTEMPT_ON_RECORD, "return record, Decision(TO_SEND, judged, status, attempt)"),
        (
            "reconciler",
            "            around = self._situation(may_enable=False)\n",
            "            around = self._situation(may_enable=False)\n"
            "            record = replace(record, attempts=(*record.attempts, effect.attempt))\n",
        ),
    ),
    mutant(
        "writes are decided on the first reading for ever",
        "acts",
        (
            "reconciler",
            "            return Seen(self.rows.read(), sent, at)\n",
            "            if not hasattr(self, '_first'):\n"
            "                self._first = self.rows.read()\n"
            "            return Seen(self._first, sent, at)\n",
        ),
    ),
    mutant(
        "the record is believed before the row",
        "acts",
        (
            "reading",
            "    status = seen.status(policy)\n    if status != UNKNOWN",
            "    status = OURS if record.known.status == OURS else seen.status(policy)\n    if status != UNKNOWN",
        ),
    ),
    mutant(
        "a write rests on an old reading",
        "frozen-acts",
        ("reading", "age is None or age > policy.api_timeout + STALE_AFTER", "False"),
    ),
    mutant(
        "every disable is taken for ours",
        "acts",
        (
            "verdict",
            "belongs_to(policy.resource, policy.host) else FOREIGN",
            "belongs_to(policy.resource, policy.host) else OURS",
        ),
    ),
    mutant(
        "a marker is found anywhere in the text",
        "acts",
        ("marker", "_SHAPE.fullmatch(reason)", "_SHAPE.search(reason)"),
    ),
    mutant(
        "another resource's marker is ours",
        "acts",
        ("marker", "return (self.resource, self.host) == (name(resource), name(host))", "return True"),
    ),
    mutant(
        "only the marker of an attempt on record is ours",
        "calm",
        (
            "reading",
            "    status = seen.status(policy)\n    if status != UNKNOWN",
            "    status = seen.status(policy)\n"
            "    if status == OURS and not any(a.token and a.token in seen.row.reason for a in record.attempts):\n"
            "        status = 'foreign'\n"
            "    if status != UNKNOWN",
        ),
    ),
    mutant(
        "a stop writes on a row that is disabled already",
        "acts",
        (
            "verdict",
            "    if status == ENABLED and policy.disable_on_stop:",
            "    if status != OURS and policy.disable_on_stop:",
        ),
    ),
    mutant(
        "a disable without a reason is nobody's",
        "acts",
        ("verdict", "    if not row.disabled:\n", "    if not row.disabled or not row.reason:\n"),
    ),
    mutant(
        "a row that cannot be read is as wanted",
        "unread",
        ("verdict", "    if status in (UNKNOWN, NONE):", "    if status == NONE:"),
    ),
    mutant(
        "nobody watches after a start",
        "lost",
        ("record", "is_read and not self.attempts", "is_read"),
    ),
    mutant(
        "neither start nor monitor leaves a helper",
        "lost",
        ("guard", "            self._leave_helper(generation, service)\n", "            pass\n"),
        ("guard", "        return bool(errand and self._send(errand))\n", "        return False\n"),
    ),
    mutant(
        "no answer is taken for not sent",
        "lost",
        ("reading", "is_definite = answer.outcome != IN_DOUBT and took", "is_definite = took"),
    ),
    mutant(
        "a slow answer settles its attempt",
        "slow",
        (
            "reading",
            "answer.outcome != IN_DOUBT and took <= attempts.DEFINITE_WITHIN",
            "answer.outcome != IN_DOUBT",
        ),
    ),
    mutant(
        "one attempt's success settles all",
        "lost lost-cycle",
        (
            "reading",
            "    record = record.without(attempt.token)\n",
            "    record = replace(record, attempts=())\n",
        ),
    ),
    mutant(
        "a reading of our marker settles the disables",
        "lost lost-two",
        (
            "reading",
            "    had_disable = record.has_unsettled_disable\n",
            "    had_disable = record.has_unsettled_disable\n"
            "    if status == OURS:\n"
            "        record = replace(record, attempts=tuple(a for a in record.attempts if a.kind != DISABLE))\n",
        ),
    ),
    mutant(
        "a reading of the row as wanted settles all",
        "lost",
        (
            "reading",
            "    had_disable = record.has_unsettled_disable\n",
            "    had_disable = record.has_unsettled_disable\n"
            "    if status == ENABLED:\n"
            "        record = replace(record, attempts=())\n",
        ),
    ),
    mutant(
        "the window is counted from the record",
        "lost",
        (
            "attempts",
            "waited = sent.after(attempt.let_go) if attempt.let_go else None",
            "waited = sent.after(attempt.sent)",
        ),
    ),
    mutant(
        "the window is half as long",
        "lost",
        (
            "attempts",
            "return waited is None or waited <= hold",
            "return waited is None or waited <= hold / 2",
        ),
    ),
    mutant(
        "the window is closed by time alone",
        "window",
        (
            "reading",
            "    if status != UNKNOWN:\n        record = _take_in",
            "    record = attempts.settle(record, None, around.now, policy.hold)\n"
            "    if status != UNKNOWN:\n        record = _take_in",
        ),
    ),
    mutant(
        "the window ends when the reading is written down, not when it was sent",
        "frozen-lost",
        (
            "reading",
            "        record = _take_in(record, seen, status, policy)",
            "        record = _take_in(record, replace(seen, sent=around.now), status, policy)",
        ),
    ),
    mutant(
        "a request that was given up counts as let go though it may still be sent",
        "stuck",
        (
            "reading",
            "return around.is_busy if client == around.me else",
            "return False if client == around.me else",
        ),
    ),
    mutant(
        "a row that moves is written to after its stop",
        "moving",
        ("guard", "            self.processes.end(self._workers(stopping), 0.0)\n", "            pass\n"),
    ),
    mutant(
        "whoever takes over ends nobody",
        "lost",
        (
            "reconciler",
            "        processes.end(_predecessors(record, mine, clock.now(), also), TAKE_OVER_GRACE)\n",
            "        pass\n",
        ),
    ),
    mutant(
        "a helper that never wakes up is never replaced",
        "frozen-for-ever",
        ("reconciler", " or helper.is_overdue(now):", ":"),
    ),
    mutant(
        "attempts are not carried over",
        "lost",
        ("guard", GUARD_NEXT, GUARD_NEXT.replace("want=want", "want=want, attempts=()")),
    ),
    mutant(
        "a foreign reason is not carried over",
        "lost-acts lost-acts-crash",
        ("guard", GUARD_NEXT, GUARD_NEXT.replace("want=want", "want=want, foreign=None")),
    ),
    mutant(
        "a foreign reason is not remembered",
        "lost-acts",
        ("reading", "    return Foreign(seen.row.reason, seen.at)", "    return None"),
    ),
    mutant(
        "an empty reason is not remembered",
        "lost-acts",
        (
            "reading",
            "    return Foreign(seen.row.reason, seen.at)",
            "    return Foreign(seen.row.reason, seen.at) if seen.row.reason else None",
        ),
    ),
    mutant(
        "a remembered reason is forgotten when our marker is read",
        "lost-acts",
        (
            "reading",
            "    if status == OURS:\n        return record.foreign\n",
            "    if status == OURS:\n        return None\n",
        ),
    ),
    mutant(
        "a remembered reason is never forgotten",
        "lost-acts-two",
        (
            "reading",
            "    if status == ENABLED or not had_disable",
            "    if status == ENABLED:\n        return record.foreign\n    if not had_disable",
        ),
    ),
    mutant(
        "a remembered reason does not bind",
        "lost-acts",
        (
            "verdict",
            "    if status == OURS and remembered:",
            "    if status == OURS and remembered and want == DISABLED:",
        ),
    ),
    mutant(
        "a disable left on a person's reason is not told",
        "lost-acts",
        ("verdict", "_overlaid(remembered), is_warning=True)", "_overlaid(remembered))"),
    ),
    mutant(
        "a warning counts as told before it is",
        "window-killed",
        ("reconciler", "_with_final(after, is_final=False) if untold else after", "after"),
    ),
    mutant(
        "the generation is reset by each action",
        "lost-cycle frozen",
        ("guard", GUARD_NEXT, GUARD_NEXT.replace("generation=generation + 1", "generation=1")),
    ),
    mutant(
        "the generation is not looked at",
        "frozen races",
        (
            "reconciler",
            "            if record.generation != self.generation:\n                return None\n            around",
            "            around",
        ),
    ),
    mutant(
        "a late intent overtakes a newer action",
        "frozen-lock",
        ("guard", "            if record.generation != errand.expected:\n                return None\n", ""),
    ),
    mutant(
        "a refusal is taken for a reading",
        "lost-refused-kill",
        ("reading", "    if answer.outcome != APPLIED or not is_mine:", "    if not is_mine:"),
    ),
    mutant(
        "a lost record hides no request",
        "lost-record",
        (
            "guard",
            "        if is_lost or (want == ENABLED and self.policy.moves):",
            "        if want == ENABLED and self.policy.moves:",
        ),
    ),
    mutant(
        "a stop waits for the answer",
        "lost",
        (
            "guard",
            "helper.wait_for_word(min(self.head_start, end - self.clock.now().seconds))",
            "helper.wait_for_word(60.0)",
        ),
    ),
    mutant(
        "a stop fails when its intent cannot be recorded",
        "frozen-lock",
        ("guard", "            return self._intend_unlocked(error.text), None\n", "            raise\n"),
    ),
    mutant(
        "a service is enabled that does not run",
        "deaths",
        (
            "reconciler",
            "self.service is not None and not self.processes.is_alive(self.service)",
            "False",
        ),
    ),
    mutant(
        "a start succeeds that has last read our own disable",
        "unread",
        (
            "guard",
            "        if self.policy.enable_on_start and OURS in (finish.status, record.known.status):",
            "        if False:",
        ),
    ),
    mutant(
        "a service started by hand is not adopted",
        "by-hand",
        (
            "guard",
            "return watch._replace(expected=record.generation) if self._is_younger(service, record) else None",
            "return None",
        ),
    ),
    mutant(
        "a monitor reads the row",
        "by-hand",
        (
            "guard",
            "        errand = None if record.is_empty else self._owed(record, service)\n",
            "        errand = None if record.is_empty else self._owed(record, service)\n        self.connect(1.0).read()\n",
        ),
    ),
    mutant(
        "a stop sends nothing",
        "stopped",
        ("guard", "        helper = self._send(errand) if errand else None\n", "        helper = None\n"),
    ),
)


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, patches: Sequence[Patch]) -> None:
        super().__init__(fullname, path)
        self._patches = patches

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source = self.get_data(path).decode()
        for patch in self._patches:
            if source.count(patch.old) != 1:
                raise SystemExit(
                    f"{path}: the mutant does not fit, {source.count(patch.old)} times: {patch.old!r}"
                )
            source = source.replace(patch.old, patch.new)
        code = compile(source, path, "exec", dont_inherit=True)
        assert isinstance(code, CodeType)
        return code


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._patches: dict[str, list[Patch]] = {}
        for patch in mutant.patches:
            self._patches.setdefault(f"{PACKAGE}.{patch.module}", []).append(patch)

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> Any:
        if fullname not in self._patches:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        loader = _Loader(fullname, spec.origin, self._patches[fullname])
        return importlib.util.spec_from_file_location(fullname, spec.origin, loader=loader)


def install(mutant: Mutant) -> None:
    """From now on the guard is loaded with this fault. Before anything of it has been."""
    assert not any(name.startswith(PACKAGE) for name in sys.modules), "the guard is loaded already"
    sys.meta_path.insert(0, _Finder(mutant))


def named(name: str) -> Mutant:
    return next(mutant for mutant in MUTANTS if mutant.name == name)
