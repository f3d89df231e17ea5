# SPDX-License-Identifier: Apache-2.0
"""The host name under which nova-compute registers, read as oslo.config reads it.

[DEFAULT] host of all its configuration files, the last one that says it; else the host name of the
kernel, never the resolver's (cases 51, 52). The rules are oslo.config's: which files there are
and in which order, how a line is read, and `$name` in a value. oslo.config itself is not needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from ocf_agents.openstack.errand import Errand, Overrun
from ocf_agents.openstack.text_file import read_text

Options = dict[str, str]
PROJECT, PROGRAM = "nova", "nova-compute"
REFERENCE = re.compile(
    r"\$(?:(?P<escaped>\$)|(?P<named>[_a-z][._a-z0-9]*)|\{(?P<braced>[_a-z][._a-z0-9]*)\})", re.I
)
DEEPEST = 20
WAY_OUT = "set the parameter host"
LONGEST = 10.0  # seconds; a file system whose server is gone answers never


class BadConfiguration(Exception):
    """Nova's configuration does not tell the host. The text names the file, and the way out."""


def default_host(arguments: Sequence[str], home: str | None, *, root: str = "/") -> str:
    """The host of a nova-compute that is started with these arguments.

    `home` is the home directory of its user (None: it has none), `root` stands before the default
    directories. Raises BadConfiguration where the answer is not certain.
    """
    options = options_of_section("DEFAULT", arguments, home, root=root)
    if "host" not in options:
        if options.get("config_source"):
            raise BadConfiguration(
                "config_source in Nova's configuration may tell the host: set the parameter host"
            )
        return os.uname().nodename
    host = resolve("host", options)
    if not host:
        raise BadConfiguration("host in Nova's configuration is empty: set the parameter host")
    return host


def options_of_section(
    section: str, arguments: Sequence[str], home: str | None, *, root: str = "/"
) -> Options:
    """The options of one section in all configuration files, unresolved. Raises BadConfiguration."""
    reading: Errand[Options] = Errand(lambda errand: _read_options(errand, section, arguments, home, root))
    try:
        return reading.run(LONGEST)
    except Overrun as overrun:
        raise BadConfiguration(
            f"cannot read {overrun.doing} within {LONGEST:g} s: mend it, or set the parameter host"
        ) from None


def _read_options(
    errand: Errand[Options], section: str, arguments: Sequence[str], home: str | None, root: str
) -> Options:
    options: Options = {}
    errand.doing = "Nova's configuration"
    for path in config_files(arguments, home, root=root):
        errand.doing = path
        options.update(read_section(section, path))
        errand.doing = "Nova's configuration"
    return options


def config_files(arguments: Sequence[str], home: str | None, *, root: str = "/") -> Iterator[str]:
    """All configuration files in the order in which they are read; the last one that says something wins.

    Without --config-file the default files, without --config-dir the default directories; both before
    what the arguments name, in their order.
    """
    named = list(options_of(arguments))
    places = default_places(home, root)
    if not any(option == "--config-file" for option, _ in named):
        yield from first_found(places, ".conf")
    if not any(option == "--config-dir" for option, _ in named):
        for folder in first_found(places, ".conf.d"):
            yield from files_in(folder)
    for option, value in named:
        path = expand_home(value, home)
        if option == "--config-file":
            yield path
        elif os.path.isdir(path):
            yield from files_in(path)
        else:
            raise BadConfiguration(f"no directory {path} (--config-dir): mend it, or set the parameter host")


def options_of(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """--config-file and --config-dir with their values, in order, in both spellings."""
    rest = iter(arguments)
    for argument in rest:
        option, equals, value = argument.partition("=")
        if option in ("--config-file", "--config-dir"):
            yield option, value if equals else next(rest, "")


def default_places(home: str | None, root: str) -> list[str]:
    """The directories where oslo.config looks, the first one first."""
    homes = [os.path.join(home, f".{PROJECT}"), home] if home else []
    return [*homes, os.path.join(root, "etc", PROJECT), os.path.join(root, "etc")]


def first_found(places: Sequence[str], extension: str) -> Iterator[str]:
    """nova and nova-compute with this extension, each from the first place that has it."""
    for name in (PROJECT, PROGRAM):
        paths = [os.path.join(place, name + extension) for place in places]
        yield from [path for path in paths if os.path.exists(path)][:1]


def files_in(folder: str) -> list[str]:
    """The *.conf files of a directory, sorted; a leading dot hides a file."""
    try:
        names = os.listdir(folder)
    except NotADirectoryError:
        return []
    except OSError as error:
        raise unreadable(folder, error) from None
    return [os.path.join(folder, name) for name in sorted(names) if name.endswith(".conf") and name[0] != "."]


def expand_home(path: str, home: str | None) -> str:
    """`~` at the start as the daemon's user has it; relative paths start at /, where it runs."""
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return os.path.join("/", path)


def read_section(section: str, path: str) -> Options:
    """What a section says in a file, the last value of each option. Raises BadConfiguration."""
    try:
        lines = universal(read_text(path)).split("\n")
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise BadConfiguration(f"{path} is not UTF-8: mend it, or set the parameter host") from None
    return parse(section, lines, path)


def universal(text: str) -> str:
    """The text with line ends as oslo.config sees them."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse(wanted: str, lines: Sequence[str], path: str) -> Options:
    """The options of one section; a line that oslo.config refuses is refused with its number."""
    options: Options = {}
    section = key = ""
    values: list[str] = []
    for number, line in enumerate([*(line.rstrip() for line in lines), ""], start=1):
        if line[:1] in (" ", "\t"):
            if not key:
                raise refuse(path, number, "continues nothing")
            values.append(line.lstrip())
            continue
        if key and section == wanted:
            options[key] = "\n".join(values)
        key = ""
        if line.startswith("["):
            section = section_name(line, path, number)
        elif line and line[0] not in "#;":
            key, values = split(line, path, number, bool(section))
    return options


def section_name(line: str, path: str, number: int) -> str:
    """The name in a section's header."""
    if not line.endswith("]") or len(line) == len("[]"):
        raise refuse(path, number, "is no section header")
    return line[1:-1]


def split(line: str, path: str, number: int, in_section: bool) -> tuple[str, list[str]]:
    """Key and first value of an assignment with `=` or `:`, without the quotes around the value."""
    key, found, value = re.match(r"([^=:]*)([=:]?)(.*)", line, re.S).groups()  # type: ignore[union-attr]
    if not found or not key.strip():
        raise refuse(path, number, "is no assignment")
    if not in_section:
        raise refuse(path, number, "stands before any section")
    value = value.strip()
    if value and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return key.strip(), [value]


def resolve(name: str, options: Mapping[str, str]) -> str:
    """The value of an option that is set, with its references to other options of [DEFAULT] replaced.

    One that the files do not set has a default that only Nova knows: BadConfiguration.
    """
    where = f"{name} in Nova's configuration"

    def replace(match: re.Match[str], depth: int) -> str:
        if match["escaped"]:
            return "$"
        other = match["named"] or match["braced"]
        if other not in options:
            raise BadConfiguration(f"{where} refers to ${other}: {WAY_OUT}")
        return expand(options[other], depth + 1)

    def expand(value: str, depth: int) -> str:
        if depth > DEEPEST:
            raise BadConfiguration(f"{where} refers to itself: {WAY_OUT}")
        return REFERENCE.sub(lambda match: replace(match, depth), value.replace(r"\$", "$$"))

    return expand(options[name], 0)


def unreadable(path: str, error: OSError) -> BadConfiguration:
    """A file that cannot be read."""
    return BadConfiguration(f"cannot read {path}: {error.strerror}: mend it, or set the parameter host")


def refuse(path: str, number: int, what: str) -> BadConfiguration:
    """A line that cannot be parsed."""
    return BadConfiguration(f"line {number} of {path} {what}: mend it, or set the parameter host")
