# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents new NAME`: an agent that passes every check, to begin with, and its test."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click

TEMPLATES = Path(__file__).parent / "templates"
MODELS = {"agent": "beacon", "promotable": "ledger"}
"""The templates, and the name of each one's daemon, wherever it stands."""

FIRST_LINE = "#!{interpreter} -I\n"
"""Not in the template, which is no program."""

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")


class CannotWrite(Exception):
    """Why nothing was written; one line."""


def write(
    name: str, directory: Path, interpreter: str = sys.executable, *, model: str = "agent"
) -> list[Path]:
    """Writes the agent `name` and its test. Raises CannotWrite; a file that is there is never touched.

    `interpreter`: an absolute path, for the agent's first line; by default the one that runs this.
    `model`: one of MODELS.
    """
    if not NAME.match(name):
        raise CannotWrite(f"{name!a} is no name for an agent: give small letters, digits and dashes")
    agent = directory / name
    test = directory / f"test_{name.replace('-', '_')}.py"
    for path in (agent, test):
        if path.exists() or path.is_symlink():
            raise CannotWrite(f"{path} is there already: choose another name, or remove it")
    try:
        for path, template, head, mode in (
            (agent, f"{model}.txt", FIRST_LINE.format(interpreter=interpreter), 0o755),
            (test, f"test_{model}.txt", "", 0o644),
        ):
            with path.open("x", encoding="utf-8") as file:
                text = (TEMPLATES / template).read_text(encoding="utf-8")
                text = text.replace(f"test_{MODELS[model]} ", f"{test.stem} ")
                file.write(head + text.replace(MODELS[model], name))
            path.chmod(mode)
    except OSError as error:
        raise CannotWrite(f"{error.filename}: {error.strerror}") from None
    return [agent, test]


def has_package(interpreter: str) -> bool:
    """Whether an isolated interpreter, as Pacemaker runs it, finds this package."""
    command = [interpreter, "-I", "-c", "import ocf_agents"]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


@click.command()
@click.argument("name")
@click.option(
    "--directory",
    "-d",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    help="Where to write it.",
)
@click.option("--promotable", is_flag=True, help="One that is promoted on one of its nodes.")
def new(name: str, directory: Path, promotable: bool) -> None:
    """Write the agent NAME, complete, and its test."""
    try:
        agent, test = write(name, directory, model="promotable" if promotable else "agent")
    except CannotWrite as error:
        raise click.UsageError(str(error)) from None
    click.echo(f"{agent}\n{test}")
    if not has_package(sys.executable):
        click.echo(
            f"{sys.executable} -I does not find ocf_agents: install it there, or change that line of {agent}",
            err=True,
        )
    click.echo(f"Try it: ocf-agents check {agent} -o binary=/bin/sleep -o arguments=1000 --timeout stop=20")
