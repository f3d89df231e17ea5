# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: a test for each rule of the conformance checker, in three lines.

    from ocf_agents.testing.pytest_plugin import ocf_check

    test_my_agent = ocf_check("heartbeat/my-agent", {"config": "/etc/my.conf"})

The agent's resource is started and stopped while these tests run, and stopped after the last one of a module.
With pytest-xdist, run them with `--dist loadgroup` or `loadfile`: a resource is for one worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Callable, Union

import pytest

from ocf_agents.testing.conformance.engine import BadUse, Session, choose, session, try_rule
from ocf_agents.testing.conformance.rule import FAILED, NOT_APPLICABLE, Result, Rule
from ocf_agents.testing.conformance.subject import Settings

Parameters = Union[Mapping[str, object], Callable[[], Mapping[str, object]]]


class Check:
    """One agent to check, as `ocf_check` was told. Settings are made when the first rule is tried."""

    def __init__(
        self, path: str | Path, parameters: Parameters, needs_resource: bool, **more: object
    ) -> None:
        self.path, self.parameters, self.needs_resource, self.more = path, parameters, needs_resource, more

    def settings(self, root: Path) -> Settings:
        given = self.parameters() if callable(self.parameters) else self.parameters
        texts = {name: str(value) for name, value in given.items()}
        return Settings(root / self.path, texts, **self.more)  # type: ignore[arg-type]


class Sessions:
    """The subjects of one module's checks, each opened when its first rule is tried."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.root, self.stack = root, stack
        self.opened: dict[Check, Session] = {}
        self.refused: dict[Check, str] = {}

    def get(self, check: Check) -> Session:
        """Raises BadUse, each time anew."""
        if check in self.refused:
            raise BadUse(self.refused[check])
        if check not in self.opened:
            try:
                opening = session(check.settings(self.root), needs_resource=check.needs_resource)
                self.opened[check] = self.stack.enter_context(opening)
            except BadUse as error:
                self.refused[check] = str(error)
                raise
        return self.opened[check]

    def leftovers(self) -> list[str]:
        """What is wrong with the ends; known when the stack is closed."""
        return [f"{check.path}: {one.leftover}" for check, one in self.opened.items() if one.leftover]


@pytest.fixture(scope="module")
def ocf_sessions(request: pytest.FixtureRequest) -> Iterator[Sessions]:
    """What `ocf_check` keeps for a module."""
    with ExitStack() as stack:
        sessions = Sessions(request.config.rootpath, stack)
        yield sessions
    if sessions.leftovers():
        pytest.fail("\n".join(sessions.leftovers()), pytrace=False)


def ocf_check(
    path: str | Path,
    parameters: Parameters = {},  # noqa: B006 (nobody changes it)
    *,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    strict: bool = False,
    meta_data: bool = False,
    instance: str = "",
    timeouts: Mapping[str, float] | None = None,
    environment: Mapping[str, str | None] | None = None,
    helpers: Sequence[str] = (),
    secrets: Sequence[str] = (),
) -> Callable[..., None]:
    """A test function with a case for each rule. path: the agent's, from pytest's root directory.

    parameters: the resource's, or a function that returns them when the first rule is tried. only, skip:
    rules or groups. strict: good practice as well. meta_data: start nothing. timeouts: seconds by action.
    environment: more variables. helpers: texts in the arguments of processes that may outlive a stop.
    secrets: parameters whose values are for nobody to see, besides those that are named so.
    """
    rules = choose(only, skip, strict=strict, harmless=meta_data)
    check = Check(
        path,
        parameters,
        any(not rule.is_harmless for rule in rules),
        instance=instance,
        timeouts=dict(timeouts or {}),
        environment=dict(environment or {}),
        helpers=tuple(helpers),
        secrets=tuple(secrets),
    )

    @pytest.mark.xdist_group(f"ocf:{path}")
    @pytest.mark.parametrize("ocf_rule", rules, ids=[rule.id for rule in rules])
    def test_ocf(ocf_rule: Rule, ocf_sessions: Sessions) -> None:
        try:
            subject = ocf_sessions.get(check).subject
        except BadUse as error:
            pytest.fail(f"{path}: {error}", pytrace=False)
        conclude(try_rule(ocf_rule, subject))

    return test_ocf


def conclude(result: Result) -> None:
    """Tell pytest."""
    if result.state == FAILED:
        rule = result.rule
        pytest.fail(f"{rule.id}: {rule.statement}\n{result.text}\n[{rule.source}]", pytrace=False)
    if result.state == NOT_APPLICABLE:
        pytest.skip(result.text)


def pytest_configure(config: pytest.Config) -> None:
    """The mark of pytest-xdist is known without it as well."""
    config.addinivalue_line("markers", "xdist_group(name): tests of one group run in one worker")
