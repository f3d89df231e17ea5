# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents doctor` and its neighbours: hints that fit what was typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.test_manners import failed, run


@pytest.fixture
def nowhere(tmp_path: Path) -> str:
    path = tmp_path / "cib.xml"
    path.write_text("<cib><configuration/></cib>")
    return str(path)


@pytest.mark.parametrize("is_all", [False, True])
def test_all_is_offered_where_it_was_not_typed(tmp_path: Path, nowhere: str, is_all: bool) -> None:
    words = ["--all"] if is_all else []
    done = run("doctor", *words, "-o", f"state_dir={tmp_path / 'state'}", CIB_file=nowhere)
    last = done.stdout.splitlines()[-1]
    assert " well" in last
    assert ("--all" in last) is not is_all


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("doctor", "--cloud NAME tries that cloud, -o"),
        ("history", ": -o"),
        ("explain", ": -o"),
        ("status", "--host NAME --cloud NAME asks the cloud alone, -o"),
    ],
)
def test_the_hint_fits_the_command(tmp_path: Path, nowhere: str, command: str, hint: str) -> None:
    line = failed(command, "nc", "-o", f"state_dir={tmp_path / 'state'}", code=3, CIB_file=nowhere)
    assert f"{hint} state_dir=PATH looks elsewhere" in line
    assert ("--host" in line) is (command == "status")
