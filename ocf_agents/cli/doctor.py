# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents doctor`: what would bite at night, each with its mend."""

from __future__ import annotations

import click

from ocf_agents.cli.shared import options, screen
from ocf_agents.operator import cluster
from ocf_agents.operator.doctor import examination
from ocf_agents.operator.doctor.finding import OK, PROBLEM, WARNING, Finding
from ocf_agents.operator.page import BAD, GOOD, ODD, Fact, Section
from ocf_agents.operator.texts import counted

HINT = "--cloud NAME tries that cloud"
TONES = {OK: GOOD, WARNING: ODD, PROBLEM: BAD}


@click.command()
@options.resource
@click.option("--all", "is_all", is_flag=True, help="Also what is well.")
@options.cloud
@options.as_json
def doctor(
    resource: str | None,
    is_all: bool,
    cloud: str | None,
    parameters: tuple[str, ...],
    agent: str | None,
    is_json: bool,
) -> int:
    """What would bite at night, each with its mend.

    It logs in to the cloud and tries, with a row that no cloud has, whether changes are allowed. Nothing is
    changed.
    """
    wanted = options.wanted(resource, None, cloud, parameters, agent, HINT)
    with screen.waiting("looking at the cluster, this host and the cloud"):
        chapters = examination.examine(wanted, cluster.read())
    if is_json:
        shown = [{"about": one.title, "findings": [f._asdict() for f in one.findings]} for one in chapters]
        screen.say_json({"chapters": shown})
        return examination.code_of(chapters)
    for chapter in chapters:
        _say(chapter, is_all=is_all)
    every = [one.level for chapter in chapters for one in chapter.findings]
    problems, warnings = counted(every.count(PROBLEM), "problem"), counted(every.count(WARNING), "warning")
    shows = "" if is_all else " (--all shows them)"
    screen.say(f"{problems}, {warnings}, {every.count(OK)} well{shows}")
    return examination.code_of(chapters)


def _say(chapter: examination.Chapter, *, is_all: bool) -> None:
    shown = [one for one in chapter.findings if is_all or one.level != OK]
    facts = [fact for one in shown for fact in _facts(one)]
    if facts:
        screen.say_sections([Section(chapter.title, facts)])
        screen.say()


def _facts(one: Finding) -> list[Fact]:
    facts = [Fact(one.level, f"{one.what}: {one.text}", TONES[one.level])]
    return [*facts, *([Fact("", f"-> {one.mend}")] if one.mend else [])]
