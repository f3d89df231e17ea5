# SPDX-License-Identifier: Apache-2.0
"""The group `ocf-agents`. A command is a module of this room with a click command of its own name in it.

Only the module of the command that is called is imported.
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from ocf_agents import __version__
from ocf_agents.operator.texts import clean
from ocf_agents.operator.trouble import INTERNAL, INTERRUPTED, UNUSABLE, USAGE, Trouble

PROGRAM = "ocf-agents"
UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
COMMANDS = (
    "status",
    "explain",
    "history",
    "hold",
    "release",
    "doctor",
    "list",
    "describe",
    "run",
    "adopt",
    "install",
    "demo",
    "check",
    "new",
)


class Unread(Exception):
    """`| head` has seen enough. click would make it 1, which is what the doctor says of a problem."""


class Commands(click.Group):
    """Finds a command in the module that has its name. A failure is one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(import_module(f"{__package__}.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise Unread from None

    def main(  # type: ignore[override]  # click's own has two shapes
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **more: Any,  # noqa: ANN401
    ) -> NoReturn:
        """Run, and end the program with its exit code."""
        words = list(sys.argv[1:] if args is None else args) or ["--help"]
        more["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # others' words may have letters that the locale has not
                stream.reconfigure(errors="backslashreplace")
        _open_what_is_closed()
        sys.exit(self._code(words, more))

    def _code(self, words: list[str], more: dict[str, Any]) -> int:
        try:
            result = super().main(words, PROGRAM, **more)
            sys.stdout.flush()
        except Trouble as trouble:
            return _told(trouble.text, trouble.code, words)
        except click.Abort:
            return _told("interrupted", INTERRUPTED, words)
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else PROGRAM
            return _told(f"{error.format_message()} ({where} --help tells more)", USAGE, words)
        except click.ClickException as error:
            return _told(error.format_message(), error.exit_code, words)
        except KeyboardInterrupt:
            return _told("interrupted", INTERRUPTED, words)
        except (BrokenPipeError, Unread):
            _mute(1)
            return 0
        except OSError as error:
            if error.filename is not None or error.errno not in UNWRITTEN:
                return _told(_fault(error), INTERNAL, words)
            return _told(f"cannot write the answer: {error.strerror}", UNUSABLE, words)
        except Exception as error:
            return _told(_fault(error), INTERNAL, words)
        return result if isinstance(result, int) else 0


def _open_what_is_closed() -> None:
    """A caller may close standard output (`>&-`) or standard error; then there is nothing to write to."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (until the end)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _told(text: str, code: int, words: Sequence[str]) -> int:
    """One line on standard error; for programs also one object on standard output."""
    try:
        if "--json" in words:
            click.echo(json.dumps({"error": {"code": code, "text": text}}, indent=2))
        sys.stdout.flush()
    except OSError:
        _mute(1)
    try:
        click.echo(f"{PROGRAM}: {clean(text)}", err=True)
    except OSError:
        _mute(2)
    return code


def _mute(descriptor: int) -> None:
    """Nobody hears it any more: what still waits to be written may go, without a complaint at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _fault(error: Exception) -> str:
    """Where a fault of ours is. Not what it says: that may quote anything, a secret too."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" in {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return f"a fault of {PROGRAM} itself, {type(error).__name__}{place}: please report it"


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=PROGRAM)
def main() -> None:
    """Look at guarded OpenStack services on this host, and at who disabled them.

    ocf-agents COMMAND --help tells of each command. Exit codes, but for run (the action's own) and check:

    \b
      0  done, or nothing is wrong
      1  doctor has found a problem, or the demo was not as told
      2  the command line is wrong
      3  no such resource, host, agent or history
      4  the cloud, the record or the cluster could not be read, or refused
      5  a write was not answered, or may still be undone: look again
      6  not done: it would undo somebody else's disable, or enable a host that is down
     70  a fault of the command itself
    130  interrupted
    """


if __name__ == "__main__":
    main(prog_name=PROGRAM)
