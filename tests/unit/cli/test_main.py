# SPDX-License-Identifier: Apache-2.0
"""The group: thin, and each command a module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
from click.testing import CliRunner

from ocf_agents import __version__
from ocf_agents.cli.main import COMMANDS, main

ROOM = Path(__file__).parents[3] / "ocf_agents" / "cli"


def test_each_command_is_a_module_and_each_module_a_command() -> None:
    modules = {path.stem for path in ROOM.glob("*.py")} - {"__init__", "main"}
    assert modules == {name.replace("-", "_") for name in COMMANDS}
    context = click.Context(main)
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        assert (command.name, bool(command.help)) == (name, True)


def test_help_and_version_are_there() -> None:
    done = CliRunner().invoke(main, ["--help"], prog_name="ocf-agents")
    assert done.exit_code == 0
    assert all(name in done.output for name in COMMANDS)
    assert __version__ in CliRunner().invoke(main, ["--version"]).output


def test_an_unknown_command_is_a_wrong_call() -> None:
    done = CliRunner().invoke(main, ["no-such-command"])
    assert done.exit_code == 2
    assert "no-such-command" in done.output


def test_only_the_command_that_is_called_is_imported() -> None:
    code = "import sys; import ocf_agents.cli.main; print('ocf_agents.cli.check' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOM.parents[1]
    )
    assert done.stdout == "False\n"
