# SPDX-License-Identifier: Apache-2.0
"""The runner treats a program as Pacemaker's executor does."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from ocf_agents.testing.run import Pacemaker, Result, execute, exit_reason, run


def agent(tmp_path: Path, body: str) -> str:
    path = tmp_path / "an-agent"
    path.write_text(f"#!{sys.executable} -IS\nimport os, signal, subprocess, sys, time\n{body}\n")
    path.chmod(0o755)
    return str(path)


SHOW = """
print(sys.argv[1:], os.getpgid(0) == os.getpid(), os.getsid(0) == os.getpid(), end=" ")
umask = os.umask(0); print(oct(umask), os.getcwd(), os.readlink("/proc/self/fd/0"), os.isatty(1))
for name in sorted(os.environ): print(name + "=" + os.environ[name])
"""


def test_it_gives_what_pacemaker_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAK", "1")
    resource = Pacemaker(agent(tmp_path, SHOW), {"user": "x", "on": True}, instance="p:0")
    first, *rest = resource.run("stop", timeout=20.5).stdout.splitlines()
    assert first == "['stop'] True False 0o26 / /dev/null False"
    environ = dict(line.split("=", 1) for line in rest)
    assert "LEAK" not in environ
    assert environ["OCF_RESKEY_user"] == "x"
    assert environ["OCF_RESKEY_on"] == "True"
    assert environ["OCF_RESKEY_CRM_meta_timeout"] == "20500"
    assert environ["OCF_RESOURCE_INSTANCE"] == "p:0"
    assert environ["OCF_RESOURCE_TYPE"] == "an-agent"
    assert (environ["OCF_RA_VERSION_MAJOR"], environ["OCF_RA_VERSION_MINOR"]) == ("1", "1")
    assert "OCF_CHECK_LEVEL" not in environ
    assert "OCF_RESKEY_CRM_meta_interval" not in environ


def test_a_probe_has_no_interval_and_a_monitor_has_one_in_milliseconds(tmp_path: Path) -> None:
    resource = Pacemaker(agent(tmp_path, SHOW))
    assert "CRM_meta_interval" not in resource.probe().stdout
    assert "OCF_RESKEY_CRM_meta_interval=10000\n" in resource.monitor(level=10).stdout
    assert "OCF_CHECK_LEVEL=10\n" in resource.monitor(level=10).stdout
    assert "CRM_meta_interval" not in resource.run("start", interval=10).stdout


def test_variables_are_added_changed_and_removed(tmp_path: Path) -> None:
    path = agent(tmp_path, SHOW)
    extra = {"OCF_ROOT": None, "LC_ALL": "de", "X": "1"}
    text = run(path, "start", {"a": 1}, env_extra=extra).stdout
    assert "OCF_ROOT=" not in text
    assert "LC_ALL=de\n" in text
    assert "X=1\n" in text
    assert "OCF_RESKEY_a=1\n" in text


def test_code_outputs_and_the_last_reason_come_back(tmp_path: Path) -> None:
    body = """
print("out"); sys.stderr.write("noise\\nocf-exit-reason:first\\nocf-exit-reason:last %s\\n"); sys.exit(7)
"""
    result = run(agent(tmp_path, body), "monitor")
    assert (result.code, result.reason, result.stdout) == (7, "last %s", "out\n")
    assert result.stderr.startswith("noise\n")
    assert not result.timed_out


def test_a_reason_is_cut_as_pacemaker_cuts_it() -> None:
    assert exit_reason("ocf-exit-reason:" + "x" * 500 + "\n") == "x" * 128
    assert exit_reason("nothing") is None


def test_a_child_that_keeps_the_pipes_does_not_delay_the_result(tmp_path: Path) -> None:
    body = "if os.fork() == 0:\n    time.sleep(5)\n    os._exit(0)\nprint('done')"
    result = run(agent(tmp_path, body), "stop")
    assert (result.code, result.stdout) == (0, "done\n")
    assert result.seconds < 4


def test_a_timeout_kills_the_whole_group_without_a_warning(tmp_path: Path) -> None:
    body = f"""
def note(*_): open({str(tmp_path / "warned")!r}, "w")
signal.signal(signal.SIGTERM, note)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
own = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
print(child.pid, own.pid, flush=True)
time.sleep(60)
"""
    result = run(agent(tmp_path, body), "stop", timeout=1)
    child, own = (int(word) for word in result.stdout.split())
    try:
        assert (result.code, result.timed_out) == (-signal.SIGKILL, True)
        assert 1 <= result.seconds < 5
        assert not (tmp_path / "warned").exists()
        os.kill(own, 0)
        end = time.monotonic() + 5
        while is_running(child) and time.monotonic() < end:
            time.sleep(0.01)
        assert not is_running(child)
    finally:
        os.kill(own, signal.SIGKILL)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_much_output_on_both_pipes_is_read_whole(tmp_path: Path) -> None:
    body = "for _ in range(50):\n    print('o' * 9999)\n    sys.stderr.write('e' * 9999 + '\\n')"
    result = run(agent(tmp_path, body), "start")
    assert (len(result.stdout), len(result.stderr)) == (500000, 500000)


def test_closed_outputs_and_bytes_that_are_no_text_are_survived(tmp_path: Path) -> None:
    body = "os.write(1, b'\\xff'); os.close(1); os.close(2); time.sleep(0.1)"
    result = run(agent(tmp_path, body), "start")
    assert result.stdout == "\ufffd"
    assert isinstance(result, Result)


def test_any_command_can_be_run_that_way() -> None:
    result = execute([sys.executable, "-c", "import os; print(dict(os.environ)['A'])"], {"A": "b"}, 20)
    assert result.stdout == "b\n"
