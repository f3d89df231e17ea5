# SPDX-License-Identifier: Apache-2.0
"""The group `ocf-agents`. A command is a module of this room with a click command of its own name in it.

Only the module of the command that is called is imported.
"""

from __future__ import annotations

from importlib import import_module

import click

from ocf_agents import __version__

COMMANDS = ("check", "new")


class Commands(click.Group):
    """Finds a command in the module that has its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(import_module(f"{__package__}.{name}"), name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ocf-agents")
def main() -> None:
    """Tools around OCF resource agents."""


if __name__ == "__main__":
    main(prog_name="ocf-agents")
