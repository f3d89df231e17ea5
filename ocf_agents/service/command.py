# SPDX-License-Identifier: Apache-2.0
"""The command line of a service, and which processes carry it.

The kernel puts an interpreter before a script: `/usr/bin/nova-compute --x` runs as
`/usr/bin/python3 [option] /usr/bin/nova-compute --x`. Only that is accepted before the binary: an
editor with the binary's path behind it is somebody else's (case 68).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHEBANG_BYTES = 256
# Options of the interpreter that take no argument of their own and do not replace the script.
PYTHON_FLAGS = "bBdEhIOPqRsSuvx"
PYTHON_OPTIONS_WITH_VALUE = ("-W", "-X")


class Command:
    """What to run, and as whom.

    binary: absolute path. arguments: None when they are not known (a stop with a bad parameter):
    then any process that runs this binary matches. user: a name or a number; empty: whoever runs the
    agent. helpers: base names of programs that the service starts for itself and that must not
    outlive it. environment: variables that the service gets besides the usual ones. is_known: False
    when the binary is a guess (a stop with a bad parameter): then a record says better what runs.
    """

    __slots__ = ("argv", "binary", "environment", "helpers", "is_exact", "is_known", "user")

    def __init__(
        self,
        binary: str,
        arguments: Sequence[str] | None = (),
        user: str | None = None,
        helpers: Sequence[str] = ("privsep-helper",),
        environment: Mapping[str, str] | None = None,
        *,
        is_known: bool = True,
    ) -> None:
        self.binary = binary
        self.environment = dict(environment or {})
        self.argv = tuple(_as_in_proc(word) for word in (binary, *(arguments or ())))
        self.is_exact = arguments is not None
        self.is_known = is_known
        self.user = user or ""
        self.helpers = tuple(helpers)

    @property
    def name(self) -> str:
        """The binary's base name."""
        return base_name(self.binary)

    def matches(self, argv: Sequence[str]) -> bool:
        """True when a process with this command line is the service, by the letter."""
        if not self.is_exact:
            places = range(len(argv))
            return any(argv[place] == self.argv[0] and self._is_prefix(argv[:place]) for place in places)
        before = len(argv) - len(self.argv)
        return before >= 0 and tuple(argv[before:]) == self.argv and self._is_prefix(argv[:before])

    def is_kind(self, argv: Sequence[str]) -> bool:
        """True when the command line runs a program of the binary's name, whatever its arguments."""
        return any(
            base_name(word) == self.name and self._is_prefix(argv[:place]) for place, word in enumerate(argv)
        )

    def is_helper(self, argv: Sequence[str]) -> bool:
        """True when the command line runs one of the helpers."""
        return base_name(program(argv)) in self.helpers

    def uid(self) -> int | None:
        """The user's number; None when this host does not know the name."""
        if not self.user:
            return os.geteuid()
        if self.user.isascii() and self.user.isdigit():
            return int(self.user)
        from ocf_agents.service.account import entry_of

        entry = entry_of(self.user)
        return entry.pw_uid if entry else None

    def _is_prefix(self, words: Sequence[str]) -> bool:
        return not words or is_python(words) or tuple(words) in self._shebangs()

    def _shebangs(self) -> tuple[tuple[str, ...], ...]:
        """What the kernel, or `env`, puts before the script. Nothing when the binary is missing."""
        return read_shebang(self.binary)


def base_name(path: str) -> str:
    """The last component of a path."""
    return path.rpartition("/")[2]


def program(argv: Sequence[str]) -> str:
    """The program that a command line runs: the script where Python runs one."""
    for place, word in enumerate(argv):
        if place == 0 and not is_python((word,)):
            return word
        if place > 0 and is_python(argv[:place]) and not word.startswith("-"):
            return word
    return ""


def is_run_by(word: str, executable: str) -> bool:
    """True when the program `word` of a command line is what the executable file runs; Pythons are one."""
    names = {base_name(word), base_name(os.path.realpath(word))}
    return base_name(executable) in names or all(map(is_python, ([word], [executable])))


def is_python(words: Sequence[str]) -> bool:
    """True for a Python interpreter with options only: what may stand before a script."""
    if not words or not _is_python_name(base_name(words[0])):
        return False
    options = list(words[1:])
    while options:
        option = options.pop(0)
        if option in PYTHON_OPTIONS_WITH_VALUE and options:
            options.pop(0)
        elif not _is_harmless_option(option):
            return False
    return True


def read_shebang(path: str) -> tuple[tuple[str, ...], ...]:
    """The words that stand before a script's path in its process's command line, as alternatives."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return ()
    try:
        head = os.read(descriptor, SHEBANG_BYTES)
    except OSError:
        return ()
    finally:
        os.close(descriptor)
    return _parse_shebang(head)


def _parse_shebang(head: bytes) -> tuple[tuple[str, ...], ...]:
    """The kernel passes the interpreter and the rest of the line as one word; `env` takes it apart."""
    if not head.startswith(b"#!"):
        return ()
    line = head[2:].split(b"\n", 1)[0].strip().decode("utf-8", "surrogateescape")
    interpreter, _, rest = line.partition(" ")
    words = (interpreter, rest.strip()) if rest.strip() else (interpreter,)
    if base_name(interpreter) != "env":
        return (words,)
    return (words, tuple(word for word in rest.split() if word != "-S"))


def _is_python_name(name: str) -> bool:
    return name.startswith("python") and not name[len("python") :].strip("0123456789.")


def _is_harmless_option(option: str) -> bool:
    if option[:2] in PYTHON_OPTIONS_WITH_VALUE:
        return len(option) > 2
    return len(option) > 1 and option[0] == "-" and not option[1:].strip(PYTHON_FLAGS)


def _as_in_proc(word: str) -> str:
    """A word of the environment as this package reads command lines, in any locale."""
    return os.fsencode(word).decode("utf-8", "surrogateescape")
