# SPDX-License-Identifier: Apache-2.0
"""The manual page of a command that is a click group, NAME(8): its help, once for all subcommands."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import roff

if TYPE_CHECKING:
    import click

ENVIRONMENT = {
    "OS_CLOUD": "With --host and neither --cloud nor a resource here: the cloud that is asked.",
    "OS_CLIENT_CONFIG_FILE": "The clouds.yaml, before the ones in ~/.config/openstack and /etc/openstack.",
    "CIB_file": "A cluster's configuration in a file, in the place of the running cluster's.",
    "NO_COLOR": "No colours on a terminal either.",
}
FILES = {
    "/etc/openstack/clouds.yaml": "The cloud, and as whom. Only root's, since there is a secret in it.",
    "/var/lib/ocf-agents": "A record and a history for each resource: what was sent, what was decided.",
}
AS_IT_IS = "\b"  # click's mark of a paragraph that is not to be filled


def render(command: click.Command, name: str, version: str, date: str) -> str:
    """The page. `date`: year-month-day."""
    page = roff.Page(name, 8, date, f"{name} {version}", "System administration")
    context = command.context_class(command, info_name=name)
    page.section("NAME")
    page.marked(f"{roff.literal(name)} \\- {roff.escaped(_summary(command))}")
    page.section("SYNOPSIS")
    page.marked(_usage(command, context))
    page.section("DESCRIPTION")
    _help(page, command)
    page.section("OPTIONS")
    _options(page, command, context)
    if any(True for _ in _below(command, context)):
        page.section("COMMANDS")
        _subcommands(page, command, context)
    _listed(page, "ENVIRONMENT", ENVIRONMENT)
    _listed(page, "FILES", FILES)
    page.see_also(["ocf_heartbeat_nova-compute(7)"])
    return str(page)


def _listed(page: roff.Page, title: str, entries: Mapping[str, str]) -> None:
    page.section(title)
    for name, text in entries.items():
        page.entry(roff.bold(name))
        page.text(text)


def _subcommands(page: roff.Page, command: click.Command, context: click.Context) -> None:
    for one, inner in _below(command, context):
        page.subsection(inner.command_path)
        page.marked(_usage(one, inner))
        _help(page, one)
        _options(page, one, inner)
        _subcommands(page, one, inner)


def _below(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """The subcommands that are shown, each with its context; none of a command that is no group."""
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        one = command.get_command(context, name)  # type: ignore[attr-defined]
        if one is not None and not one.hidden:
            yield one, one.context_class(one, info_name=name, parent=context)


def _usage(command: click.Command, context: click.Context) -> str:
    words = " ".join(roff.literal(word) for word in command.collect_usage_pieces(context))
    return f"{roff.bold(context.command_path)} {words}"


def _summary(command: click.Command) -> str:
    return (command.short_help or _text(command).partition("\n\n")[0]).replace("\n", " ").strip().rstrip(".")


def _text(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").partition("\f")[0]


def _help(page: roff.Page, command: click.Command) -> None:
    for paragraph in _text(command).split("\n\n"):
        lines = paragraph.strip("\n").split("\n")
        if lines[0].strip() == AS_IT_IS:
            page.example("\n".join(lines[1:]))
        elif paragraph.strip():
            page.paragraph(paragraph)


def _options(page: roff.Page, command: click.Command, context: click.Context) -> None:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or (parameter.param_type_name == "argument" and not record[1]):
            continue  # the usage line names it
        page.entry(roff.bold(record[0]))
        page.text(record[1] or "Not described.")
