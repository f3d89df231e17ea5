# SPDX-License-Identifier: Apache-2.0
"""The command's manners: one line for what is wrong, an exit code, no traceback, no secret."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ocf_agents.cli.main import COMMANDS, Commands, main
from ocf_agents.cli.shared import screen
from ocf_agents.operator.page import BAD, Fact, Section, Table
from ocf_agents.operator.trouble import Trouble

ROOT = Path(__file__).parents[3]


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    code = "from ocf_agents.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", **environ},
    )


def failed(*words: str, code: int, **environ: str) -> str:
    done = run(*words, **environ)
    assert (done.returncode, done.stdout) == (code, ""), done
    (line,) = done.stderr.splitlines()
    assert line.startswith("ocf-agents: ")
    return line


def test_all_commands_are_there() -> None:
    wanted = {
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
        "demo",
        "new",
    }
    assert wanted <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself(name: str) -> None:
    done = run(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: ocf-agents " + name in done.stdout


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"new", "check", "install", "demo"}))
def test_each_command_speaks_json(name: str) -> None:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    assert "--json" in [word for option in found.params for word in option.opts]


def test_nothing_typed_is_answered_with_what_there_is() -> None:
    done = run()
    assert done.returncode == 0
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize(
    "words",
    [
        ["bogus"],
        ["status", "--bogus"],
        ["hold", "nc"],
        ["history", "-n", "0"],
        ["hold", "--reason", "x", "--timeout", "nan"],
        ["run", "nova-compute", "meta-data", "--timeout", "nan"],
        ["run", "nova-compute", "meta-data", "--timeout", "1e308"],
        ["run", "nova-compute", "monitor", "--interval", "nan"],
        ["history", "-n", "x"],
        ["status", "-o", "geheim"],
        ["run", "nova-compute"],
    ],
)
def test_what_is_typed_wrongly_is_one_line_and_code_2(words: list[str]) -> None:
    assert "geheim" not in failed(*words, code=2)


def test_a_cib_that_is_none_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "cib.xml"
    bad.write_text("<html>")
    assert str(bad) in failed("status", code=4, CIB_file=str(bad))
    assert "cannot read" in failed("status", code=4, CIB_file=str(tmp_path / "none"))


def test_no_credentials_names_what_to_give(tmp_path: Path) -> None:
    line = failed("status", "--host", "cmp-7", "-o", f"state_dir={tmp_path}", code=2)
    assert "--cloud NAME" in line


def test_an_error_is_json_too_where_json_was_asked_for() -> None:
    done = run("describe", "nix", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["error"]["code"] == 3


def test_letters_that_the_locale_has_not_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def tell() -> None:
        screen.say("swap → new")

    out = io.TextIOWrapper(io.BytesIO(), "iso-8859-15")
    monkeypatch.setattr(Commands, "get_command", lambda *about: tell)
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(SystemExit) as end:
        main(["tell"])
    assert end.value.code == 0
    assert out.buffer.getvalue() == b"swap \\u2192 new\n"  # type: ignore[attr-defined]


def test_one_parameter_as_json_is_that_one() -> None:
    (found,) = json.loads(run("describe", "nova-compute", "hold", "--json").stdout)["parameters"]
    assert found["name"] == "hold"
    assert run("describe", "nova-compute", "nosuch", "--json").returncode == 3


def test_a_fault_of_our_own_is_one_line_without_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def fault() -> None:
        raise RuntimeError("geheim")

    monkeypatch.setattr(Commands, "get_command", lambda *about: fault)
    done = CliRunner().invoke(main, ["fault"])
    assert done.exit_code == 70
    assert "RuntimeError" in done.output
    assert "geheim" not in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (Trouble("x", 6), 6)])
def test_ends(monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int) -> None:
    @click.command()
    def end() -> None:
        raise error

    monkeypatch.setattr(Commands, "get_command", lambda *about: end)
    assert CliRunner().invoke(main, ["end"]).exit_code == code


@pytest.mark.parametrize("form", ["", "--json"])
def test_a_reader_that_has_gone_is_no_trouble(form: str) -> None:
    command = (
        f"{sys.executable} -c 'from ocf_agents.cli.main import main; main()' describe nova-compute {form}"
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} | head -c 10"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "code"),
    [("list", 4), ("list --json", 4), ("describe nosuch", 3), ("describe nosuch --json", 3)],
)
@pytest.mark.parametrize("both", ["", " 2>/dev/full"])
def test_an_answer_that_finds_no_room_is_one_line_and_a_code(words: str, code: int, both: str) -> None:
    command = f"{sys.executable} -c 'from ocf_agents.cli.main import main; main()' {words} >/dev/full{both}"
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, check=False, timeout=60, env=environ
    )
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == (0 if both else 1)
    assert "fault" not in done.stderr


def test_a_failure_that_nobody_reads_keeps_its_code() -> None:
    command = f"{sys.executable} -c 'from ocf_agents.cli.main import main; main()' describe nosuch --json"
    reader, writer = os.pipe()
    os.close(reader)
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", command],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
        env=environ,
    )
    os.close(writer)
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize(("words", "code"), [("list", 0), ("list --nonsense", 2), ("describe nosuch", 3)])
def test_who_closes_an_output_gets_the_code_all_the_same(words: str, code: int, closed: str) -> None:
    command = f"{sys.executable} -c 'from ocf_agents.cli.main import main; main()' {words} {closed}"
    done = subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == code
    assert "fault" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file_text", "value"),
    [("#!/bin/sh\nexit 7\n", 7), ("#!/bin/sh\nkill -9 $$\n", 137), ("#!/bin/sh\nsleep 9\n", 124)],
)
def test_run_ends_as_the_action_does(tmp_path: Path, file_text: str, value: int) -> None:
    agent = tmp_path / "agent"
    agent.write_text(file_text)
    agent.chmod(0o755)
    done = run("run", str(agent), "monitor", "--timeout", "1", "--json")
    assert done.returncode == value
    assert json.loads(done.stdout)["timed_out"] == (value == 124)


def test_run_gives_level_and_parameters_as_pacemaker_does(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\necho "$1 $OCF_RESKEY_a $OCF_CHECK_LEVEL $OCF_RESKEY_CRM_meta_timeout"\n')
    agent.chmod(0o755)
    done = run("run", str(agent), "monitor", "-o", "a=b", "--level", "10", "--timeout", "9")
    assert done.stdout.splitlines()[0] == "monitor b 10 9000"


def on_a_terminal(width: int, call: str) -> str:
    """What a call writes on a terminal of this width."""
    import pty

    reader, writer = pty.openpty()
    code = f"from ocf_agents.cli.shared import screen; from ocf_agents.operator.page import *; {call}"
    done = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=writer,
        stderr=writer,
        env={"PYTHONPATH": str(ROOT), "COLUMNS": str(width), "TERM": "xterm", "PATH": "/usr/bin"},
    )
    os.close(writer)
    pieces = []
    while True:
        try:
            piece = os.read(reader, 4096)
        except OSError:
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(reader)
    assert done.wait(30) == 0
    return b"".join(pieces).decode().replace("\r\n", "\n")


LONG = "word " * 40


def test_a_narrow_terminal_gets_lines_that_fit() -> None:
    text = on_a_terminal(60, f"screen.say_sections([Section('t', [Fact('label', {LONG!r}, BAD)])])")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert len(plain) > 3
    assert max(map(len, plain)) <= 60


def test_a_table_that_does_not_fit_puts_its_last_column_below() -> None:
    text = on_a_terminal(50, f"screen.say_table(Table(['a' * 30, 'b'], [['c' * 30, {LONG!r}]]))")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert "c" * 30 in plain
    assert max(map(len, plain)) <= 50


def test_a_terminal_gets_colour_and_a_pipe_gets_neither_colour_nor_wrapping(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "\x1b[31m" in on_a_terminal(80, "screen.say_sections([Section('t', [Fact('l', 'x', BAD)])])")
    screen.say_sections([Section("t", [Fact("l", LONG, BAD)])])
    assert capsys.readouterr().out == f"t\n  l  {LONG}\n"


def test_a_table_in_a_pipe_has_one_line_for_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    screen.say_table(Table(["a", "b"], [["x", LONG], ["yy", "z"]]))
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_spinner_shows_on_a_terminal_and_is_gone_afterwards() -> None:
    text = on_a_terminal(80, "import time\nwith screen.waiting('waiting for it'): time.sleep(1)")
    assert "waiting for it" in text
    assert text.endswith("\r\x1b[K")


def test_no_spinner_in_a_pipe() -> None:
    code = "from ocf_agents.cli.shared import screen; import time\nwith screen.waiting('w'): time.sleep(0.6)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.parametrize(
    ("file_text", "mode", "why"),
    [
        ("#!/bin/sh\n", 0o600, "Permission denied"),
        ("#!/no/such/interpreter\n", 0o700, "No such file or directory"),
        ("no program\n", 0o700, "Exec format error"),
    ],
)
def test_run_of_what_is_no_program_says_why(tmp_path: Path, file_text: str, mode: int, why: str) -> None:
    agent = tmp_path / "agent"
    agent.write_text(file_text)
    agent.chmod(mode)
    assert failed("run", str(agent), "monitor", code=2) == f"ocf-agents: {agent} cannot be run: {why}"
