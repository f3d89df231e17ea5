# SPDX-License-Identifier: Apache-2.0
"""Cases of kind 4: meta-data, actions, exit codes, and the agent's environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node
from ocf_agents.testing.run import execute

from .place import WITHOUT_CLOUD, bring_up, is_success, log_of, of_node, rewrite_daemon

TIMES = {
    6: ("-1", "2x", "1e3", "0x10", "inf", "\u0662", "999999999999999999999"),
    0: ("20", "20s", "20000ms", "1m", " 20 ", "2.5", "1h", ""),
}
WORDS = {
    0: ("true", "True", "YES", "y", "on", "On", "1", "false", "No", "off", "0", "n"),
    6: ("enabled", "2", "tru", "yes please", "-1", "none"),
}
CREDENTIALS = {"auth_url": "http://127.0.0.1:9/v3", "username": "a", "password": "b", "project_name": "c"}


@pytest.mark.parametrize("version", [{"OCF_RA_VERSION_MAJOR": None}, {"OCF_RA_VERSION_MINOR": "1"}], ids=str)
def test_the_agents_own_meta_data_is_in_order_ascii_and_has_units(
    node: Node, version: dict[str, str | None]
) -> None:
    """Cases 25, 88, 89, 91, 92, 99 and 109; the schemas are asked in the unit tests."""
    texts = set()
    for locale in ({}, {"LC_ALL": "C"}, {"LANG": "xx_BAD", "LC_ALL": None}, {"PATH": "/nonexistent"}):
        result = node.run("meta-data", env_extra={**version, **locale})
        assert (result.code, result.stderr, result.stdout.isascii()) == (0, "", True)
        texts.add(result.stdout)
    (text,) = texts
    root = ElementTree.fromstring(text)
    assert [part.tag for part in root][:3] == ["version", "longdesc", "shortdesc"]
    for parameter in root.iter("parameter"):
        long, short = list(parameter)[:2]
        assert (long.tag, short.tag) == ("longdesc", "shortdesc")
        assert short.get("lang")
        assert short.text
        assert "\n" not in short.text
        assert short.text != parameter.get("name")
    for action in root.iter("action"):
        assert re.fullmatch(r"[1-9]\d*s", action.get("timeout") or "")
    (stop,) = (action for action in root.iter("action") if action.get("name") == "stop")
    assert int((stop.get("timeout") or "")[:-1]) >= 200


def test_each_advertised_action_exists_and_no_other_does_anything(node: Node) -> None:
    """Case 93."""
    root = ElementTree.fromstring(node.run("meta-data").stdout)
    names = {action.get("name") or "" for action in root.iter("action")}
    assert {"start", "stop", "monitor", "validate-all", "reload-agent"} <= names
    assert [name for name in names if node.run(name, parameters=WITHOUT_CLOUD).code == 3] == []
    for name in ("frobnicate", "", "START", "promote", "migrate_to"):
        assert node.run(name).code == 3
    assert not node.state_dir.exists()


def test_a_stop_by_hand_needs_no_variable_of_the_cluster(node: Node) -> None:
    """Case 95."""
    bring_up(node)
    names = ("supervisor", "binary", "config", "user", "state_dir")
    given = {name: node.pacemaker.parameters[name] for name in names}
    environment = {f"OCF_RESKEY_{name}": str(value) for name, value in given.items()}
    result = execute([node.pacemaker.agent_path, "stop"], {**environment, "HA_RSCTMP": str(node.run_dir)}, 30)
    assert is_success(result)
    assert not node.is_alive()
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("name", "table"), [("hold", TIMES), ("insecure", WORDS)], ids=["times", "booleans"])
def test_a_value_is_understood_or_refused_never_guessed(
    node: Node, name: str, table: dict[int, tuple[str, ...]]
) -> None:
    """Cases 96 and 107."""
    for code, words in table.items():
        for word in words:
            result = node.run("validate-all", parameters={name: word})
            assert result.code == code, (word, result)
            assert code == 0 or f"parameter {name} " in (result.reason or "")


def test_validate_all_looks_at_parameters_only_and_says_one_line(node: Node) -> None:
    """Case 101: no OpenStack here, neither the program nor its files."""
    node.pacemaker.parameters = {}
    before = sorted(node.root.rglob("*"))
    for parameters, code in (
        (CREDENTIALS, 0),
        ({"cloud": "ha"}, 0),
        (WITHOUT_CLOUD, 0),
        ({}, 6),
        ({**CREDENTIALS, "cloud": "ha"}, 6),
        ({"auth_url": "http://127.0.0.1:9/v3"}, 6),
        ({**CREDENTIALS, "binary": "nova-compute"}, 6),
        ({**CREDENTIALS, "additional_parameters": "'"}, 6),
    ):
        result = node.run("validate-all", parameters=parameters)
        assert (result.code, result.stdout) == (code, ""), parameters
        assert len(result.stderr.splitlines()) == bool(code)
    assert sorted(node.root.rglob("*")) == before


@pytest.mark.parametrize("level", ["", "10", "15", "10s", "-1", "9" * 20, "\u0663"])
def test_any_check_level_is_survived(running: tuple[Node, ComputeApi], level: str) -> None:
    """Case 100."""
    node, _ = running
    assert node.run("monitor", env_extra={"OCF_CHECK_LEVEL": level}).code == 0


@pytest.mark.parametrize("directory", ["/proc/nowhere", "/dev/null/nowhere"])
def test_a_directory_that_cannot_be_made_fails_a_start_with_its_name_and_no_stop(
    node: Node, directory: str
) -> None:
    """Case 104: the run directory, then that of the records."""
    environment = {"HA_RSCTMP": directory}
    assert node.pacemaker.probe(env_extra=environment).code == 7
    failed = node.run("start", parameters=WITHOUT_CLOUD, env_extra=environment)
    assert (failed.code, directory in (failed.reason or "")) == (1, True)
    assert [pid for pid in of_node(node) if pid not in node.helpers()] == []
    bring_up(node)
    assert is_success(node.run("stop", parameters={"state_dir": directory}))
    assert not node.is_alive()
    failed = node.run("start", parameters={"state_dir": directory})
    assert (failed.code, directory.rpartition("/")[0] in (failed.reason or "")) == (1, True)


def test_a_log_that_cannot_be_written_stops_nothing(node: Node) -> None:
    """Case 108."""
    fifo = node.root / "fifo"
    os.mkfifo(fifo)
    for path in ("/no/dir/x", str(fifo), str(node.root), "/dev/full"):
        environment = {"HA_LOGFILE": path, "HA_DEBUGLOG": "/no/dir/y", "HA_debug": "1"}
        assert node.run("meta-data", env_extra=environment).code == 0
        assert is_success(node.run("stop", parameters=WITHOUT_CLOUD, env_extra=environment))


def test_the_daemon_gets_its_own_umask_environment_and_pid(node: Node) -> None:
    """Cases 111 and 115: neither the caller's umask nor its login shell."""
    look = "json.dump([dict(os.environ), os.getpid(), sorted(os.listdir('/proc/self/fd'))], made)"
    made = node.root / "made"
    rewrite_daemon(
        node,
        "import signal, sys, time",
        f"import json, os, signal, sys, time\nwith open({str(made)!r}, 'w') as made: {look}",
    )
    for name in (".profile", ".bashrc", ".bash_profile"):
        (node.root / name).write_text("echo 911\n")
    environment = node.pacemaker.environ("start", interval=None, timeout=30, level=None)
    environment |= {f"OCF_RESKEY_{name}": value for name, value in WITHOUT_CLOUD.items()}
    command = [node.pacemaker.agent_path, "start"]
    subprocess.run(command, env={**environment, "HOME": str(node.root)}, umask=0o077, check=True)
    assert made.stat().st_mode & 0o777 == 0o644
    variables, pid, descriptors = json.loads(made.read_text())
    assert pid == node.pid
    assert [name for name in variables if name.startswith(("OCF", "HA_"))] == []
    assert "secret" not in variables.values()
    assert len(descriptors) == 5, "its own three, the file, and the directory that it reads"


def test_monitors_in_one_state_write_nothing_to_the_log(node: Node, cloud: ComputeApi) -> None:
    """Case 116; with a dead API one helper works, and it says its trouble once."""
    bring_up(node)
    cloud.compute.stop()
    cloud.identity.stop()
    assert is_success(node.run("start", timeout=8))
    before = log_of(node)
    assert [node.run("monitor").code for _ in range(10)] == [0] * 10
    assert len(node.helpers()) == 1
    assert len(log_of(node).splitlines()) - len(before.splitlines()) <= 1
    node.end_helpers()
    assert is_success(node.run("stop", parameters=WITHOUT_CLOUD))
    before = log_of(node)
    results = [node.run("monitor") for _ in range(5)]
    assert {(one.code, one.stderr) for one in results} == {
        (7, "ocf-exit-reason:nova-compute is not running\n")
    }
    assert log_of(node) == before


@pytest.mark.parametrize(
    "value", ["%s %n %d", "a\nb\nocf-exit-reason:x", "x" * 5000, "\x1b[31m", "\u00e9" * 200]
)
def test_a_reason_is_one_literal_bounded_line(node: Node, value: str) -> None:
    """Case 117."""
    result = node.run("start", parameters={"insecure": value})
    assert result.code == 6
    (line,) = result.stderr.splitlines()
    assert line.startswith("ocf-exit-reason:parameter insecure is ")
    assert len(line.encode()) <= len("ocf-exit-reason:") + 127
    assert value != "%s %n %d" or value in line
