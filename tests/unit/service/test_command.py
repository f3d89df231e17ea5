# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from ocf_agents.service.command import Command, program, read_shebang

BINARY = "/usr/bin/no-such-nova-compute"
ARGUMENTS = ["--config-file", "/etc/nova/nova.conf"]
COMMAND = Command(BINARY, ARGUMENTS)


@pytest.mark.parametrize(
    "before",
    [
        [],
        ["/usr/bin/python3"],
        ["python3"],
        ["/usr/bin/python"],
        ["/opt/py/bin/python3.11"],
        ["/usr/bin/python3", "-s"],
        ["/usr/bin/python3", "-sE"],
        ["/usr/bin/python3", "-I", "-S", "-u"],
        ["/usr/bin/python3", "-W", "ignore", "-X", "dev"],
        ["/usr/bin/python3", "-Wignore", "-Xdev"],
    ],
)
def test_python_with_options_may_stand_before_a_binary_that_is_missing(before: list[str]) -> None:
    argv = [*before, BINARY, *ARGUMENTS]
    assert COMMAND.matches(argv)
    assert COMMAND.is_kind(argv)
    assert program(argv) == BINARY


@pytest.mark.parametrize(
    "argv",
    [
        [],
        [""],
        ["vim", BINARY, *ARGUMENTS],
        ["/usr/bin/vim", "python-nova-compute.log"],
        ["/usr/bin/python3", "/usr/bin/other", BINARY, *ARGUMENTS],
        ["/usr/bin/python3", "-m", "pdb", BINARY, *ARGUMENTS],
        ["/usr/bin/python3", "-c", BINARY, *ARGUMENTS],
        ["/usr/bin/python3", "-Ic", BINARY, *ARGUMENTS],
        ["/usr/bin/pythonista", BINARY, *ARGUMENTS],
        ["sudo", "-u", "nova", BINARY, *ARGUMENTS],
        ["strace", "-f", "/usr/bin/python3", BINARY, *ARGUMENTS],
        ["/bin/sh", "-c", f"{BINARY} {' '.join(ARGUMENTS)}"],
        ["tail", "-f", BINARY, *ARGUMENTS],
        ["/bin/bash", BINARY, *ARGUMENTS],
        ["env", BINARY, *ARGUMENTS],
    ],
)
def test_what_merely_names_the_binary_is_somebody_elses(argv: list[str]) -> None:
    assert not COMMAND.matches(argv)
    assert not COMMAND.is_kind(argv)


@pytest.mark.parametrize(
    "argv",
    [
        [BINARY],
        [BINARY, *ARGUMENTS, "--debug"],
        [BINARY, "--config-file", "/etc/nova/other.conf"],
        ["/usr/local/bin/no-such-nova-compute", *ARGUMENTS],
        ["/usr/bin/python3", "/snap/bin/no-such-nova-compute"],
    ],
)
def test_other_arguments_are_the_kind_but_no_match(argv: list[str]) -> None:
    assert not COMMAND.matches(argv)
    assert COMMAND.is_kind(argv)


@pytest.mark.parametrize(
    ("line", "before"),
    [
        ("#!/bin/bash", ["/bin/bash"]),
        ("#! /bin/bash -eu ", ["/bin/bash", "-eu"]),
        ("#!/usr/bin/perl -w -T", ["/usr/bin/perl", "-w -T"]),
        ("#!/usr/bin/env bash", ["bash"]),
        ("#!/usr/bin/env -S bash -e", ["bash", "-e"]),
        ("#!/usr/bin/env bash", ["/usr/bin/env", "bash"]),
    ],
)
def test_the_shebang_of_the_binary_tells_what_stands_before_it(
    tmp_path: Path, line: str, before: list[str]
) -> None:
    path = tmp_path / "daemon"
    path.write_text(f"{line}\necho\n")
    command = Command(str(path), ["-x"])
    assert command.matches([*before, str(path), "-x"])
    assert not command.matches(["/bin/dash", str(path), "-x"])


@pytest.mark.parametrize("content", [b"", b"#", b"#!", b"#!\n", b"\x7fELF\0\0", b"#!/\xff\xfe x\n"])
def test_a_strange_head_is_no_shebang_of_another(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "daemon"
    path.write_bytes(content)
    assert not Command(str(path)).matches(["vim", str(path)])


def test_a_missing_binary_and_a_directory_have_no_shebang(tmp_path: Path) -> None:
    assert read_shebang(str(tmp_path / "none")) == ()
    assert read_shebang(str(tmp_path)) == ()


@pytest.mark.parametrize(
    ("argv", "is_helper"),
    [
        (["/usr/bin/python3", "/usr/bin/privsep-helper", "--config-file", "x"], True),
        (["/usr/local/bin/privsep-helper"], True),
        (["sudo", "nova-rootwrap", "/etc/nova/rootwrap.conf", "privsep-helper"], False),
        (["vim", "/usr/bin/privsep-helper"], False),
        (["/usr/bin/qemu-system-x86_64", "-name", "privsep-helper"], False),
        ([], False),
    ],
)
def test_a_helper_is_what_runs_not_what_is_named(argv: list[str], is_helper: bool) -> None:
    assert COMMAND.is_helper(argv) is is_helper


def test_a_user_is_a_name_or_a_number() -> None:
    assert Command(BINARY, user="root").uid() == 0
    assert Command(BINARY, user="12345").uid() == 12345
    assert Command(BINARY, user="no-such-user").uid() is None


def test_without_known_arguments_the_binary_itself_is_the_service_and_a_namesake_is_not() -> None:
    unknown = Command(BINARY, None)
    assert unknown.matches(["/usr/bin/python3", BINARY, "--config-file=/etc/nova/nova.conf"])
    assert not unknown.matches(["/usr/bin/python3", f"/opt{BINARY}", "--config-file=/etc/nova/nova.conf"])
    assert not unknown.matches(["/usr/bin/vim", BINARY])
