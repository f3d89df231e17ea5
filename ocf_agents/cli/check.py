# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents check`: does a resource agent keep to the standard?"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import click

from ocf_agents.testing.conformance import engine, report
from ocf_agents.testing.conformance.rule import FAILED, NOT_APPLICABLE, PASSED, Result, Rule
from ocf_agents.testing.conformance.rules import RULES
from ocf_agents.testing.conformance.subject import Settings

PREFIX = "OCF_RESKEY_"
PARAMETER_HELP = f"A parameter of the resource; without a value, that of the variable {PREFIX}NAME."
COLOURS = {PASSED: "green", FAILED: "red", NOT_APPLICABLE: "bright_black"}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("-o", "parameters", multiple=True, metavar="NAME[=VALUE]", help=PARAMETER_HELP)
@click.option(
    "-n", "--name", "instance", default="", help="The resource's name. Default: one that is not in use."
)
@click.option(
    "-m", "--meta-data", "harmless", is_flag=True, help="Look at the file and its meta-data; start nothing."
)
@click.option("-s", "--strict", is_flag=True, help="Good practice as well as rules.")
@click.option("--only", multiple=True, metavar="RULE", help="This rule, or this group of rules.")
@click.option("--skip", multiple=True, metavar="RULE", help="Not this rule, or this group of rules.")
@click.option(
    "--timeout",
    "timeouts",
    multiple=True,
    metavar="[ACTION=]SECONDS",
    help="Default: as the meta-data advises.",
)
@click.option(
    "--env", "variables", multiple=True, metavar="NAME=VALUE", help="One more variable for the agent."
)
@click.option(
    "--helper",
    "helpers",
    multiple=True,
    metavar="TEXT",
    help="Processes with TEXT in their arguments are the agent's helpers: they may outlive a stop.",
)
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="NAME",
    help="The value of this parameter is for nobody to see, though it is not named like a secret.",
)
@click.option("--force", is_flag=True, help="Stop a resource that runs already, and go on.")
@click.option("-q", "--quiet", is_flag=True, help="Failures and the summary only.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON on stdout, instead of the table.")
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write the report as JUnit's XML."
)
@click.option("--list", "as_list", is_flag=True, help="Show all rules and where they come from.")
def check(
    paths: Sequence[str],
    parameters: Sequence[str],
    instance: str,
    harmless: bool,
    strict: bool,
    only: Sequence[str],
    skip: Sequence[str],
    timeouts: Sequence[str],
    variables: Sequence[str],
    helpers: Sequence[str],
    secrets: Sequence[str],
    force: bool,
    quiet: bool,
    as_json: bool,
    junit: Path | None,
    as_list: bool,
) -> None:
    """Check the resource agents PATH... against the OCF standard and what Pacemaker expects of them.

    A resource with the given parameters is started, killed, stopped, and so on, many times: use one
    that nobody needs. At the end it is stopped. With --meta-data nothing is started.

    The exit code is 0 if no rule failed, 1 if one did, 2 if the check was called wrongly.
    """
    if as_list:
        click.echo(report.list_to_json(RULES) if as_json else "\n".join(report.list_of(RULES, columns())))
        return
    if not paths:
        raise click.UsageError("no agent is given: ocf-agents check PATH")
    try:
        rules = engine.choose(only, skip, strict=strict, harmless=harmless)
        reports = []
        for path in paths:
            settings = Settings(
                Path(path).absolute(),
                pairs([with_value(text) for text in parameters], "-o"),
                instance,
                durations(timeouts),
                pairs(variables, "--env"),
                helpers,
                secrets,
            )
            reports.append(run(settings, rules, force, is_silent=as_json, is_quiet=quiet))
    except engine.BadUse as error:
        raise click.UsageError(str(error)) from None
    if junit is not None:
        write(junit, report.to_junit(reports))
    if as_json:
        click.echo(report.to_json(reports))
    raise SystemExit(0 if all(one.is_success for one in reports) else 1)


def run(
    settings: Settings, rules: Sequence[Rule], force: bool, *, is_silent: bool, is_quiet: bool
) -> engine.Report:
    """Check one agent, and show each result as it comes."""

    def tell(result: Result) -> None:
        if not is_silent and not (is_quiet and result.state != FAILED):
            show(result)

    found = engine.check(settings, rules, force=force, tell=tell)
    if not is_silent:
        for line in report.summary(found, columns()):
            click.secho(line, fg=None if found.is_success else "red")
    return found


def show(result: Result) -> None:
    first, *more = report.row(result, columns())
    sign, rest = first[:6], first[6:]
    click.echo(click.style(sign, fg=COLOURS[result.state]) + rest)
    for line in more:
        click.echo(line)


def columns() -> int:
    return shutil.get_terminal_size().columns - 1


def with_value(text: str) -> str:
    """NAME alone with its value from the environment, where other users cannot see it."""
    if "=" in text or f"{PREFIX}{text}" not in os.environ:
        return text
    return f"{text}={os.environ[PREFIX + text]}"


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """NAME=VALUE texts as a dictionary. Raises UsageError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{option} {text[:40]!r} is no NAME=VALUE")
        found[name] = value
    return found


def durations(texts: Sequence[str]) -> dict[str, float]:
    """Seconds by action; the name of those for all other actions is empty. Raises UsageError."""
    found: dict[str, float] = {}
    for text in texts:
        action, _, number = text.rpartition("=")
        try:
            seconds = float(number)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds < 86400:
            raise click.UsageError(f"--timeout {text[:40]!r} is no [ACTION=]SECONDS")
        found[action] = seconds
    return found


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"--junit {path}: {error.strerror}") from None
