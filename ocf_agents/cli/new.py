# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents new NAME`: an agent that passes every check, to begin with, and its test."""

from __future__ import annotations

import re
from pathlib import Path

import click

TEMPLATES = Path(__file__).parent / "templates"
MODEL = "beacon"
"""The name of the template's daemon, wherever it stands."""

INTERPRETER = "#!/usr/bin/python3 -I\n"
"""An agent's first line. Not in the template, which is no program."""

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")


class CannotWrite(Exception):
    """Why nothing was written; one line."""


def write(name: str, directory: Path) -> list[Path]:
    """Writes the agent `name` and its test. Raises CannotWrite; a file that is there is never touched."""
    if not NAME.match(name):
        raise CannotWrite(f"{name!a} is no name for an agent: give small letters, digits and dashes")
    agent = directory / name
    test = directory / f"test_{name.replace('-', '_')}.py"
    for path in (agent, test):
        if path.exists() or path.is_symlink():
            raise CannotWrite(f"{path} is there already: choose another name, or remove it")
    try:
        for path, template, head, mode in (
            (agent, "agent.txt", INTERPRETER, 0o755),
            (test, "test_agent.txt", "", 0o644),
        ):
            with path.open("x", encoding="utf-8") as file:
                text = head + (TEMPLATES / template).read_text(encoding="utf-8")
                text = text.replace(f"test_{MODEL} ", f"{test.stem} ")
                file.write(text.replace(MODEL, name))
            path.chmod(mode)
    except OSError as error:
        raise CannotWrite(f"{error.filename}: {error.strerror}") from None
    return [agent, test]


@click.command()
@click.argument("name")
@click.option(
    "--directory",
    "-d",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    help="Where to write it.",
)
def new(name: str, directory: Path) -> None:
    """Write the agent NAME, complete, and its test."""
    try:
        agent, test = write(name, directory)
    except CannotWrite as error:
        raise click.UsageError(str(error)) from None
    click.echo(f"{agent}\n{test}")
    click.echo(f"Try it: ocf-agents check {agent} -o binary=/bin/sleep -o arguments=1000")
