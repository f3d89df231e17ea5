# SPDX-License-Identifier: Apache-2.0
"""Cases of kind 5: Python, processes and locks."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ocf_agents.service.proc import ProcTable
from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute.exchange import Response
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node, command_line, is_running, wait_for

from .place import (
    WITHOUT_CLOUD,
    begin_agent_with,
    bring_up,
    is_quiet,
    is_success,
    log_of,
    our_marker,
    pid_file,
    writes,
)

NO_SDK = "import sys\nsys.modules['openstack'] = None\nsys.modules['keystoneauth1'] = None\n"
STRICT = "import warnings\nwarnings.simplefilter('error')\n"
NO_TEXT = "x\udcff\udcfe"
"""Two bytes that are no UTF-8, as the environment gives them to Python."""


def descriptors_of(pid: int) -> dict[str, str]:
    return {name: os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}


def test_without_the_sdk_all_but_the_row_works(node: Node) -> None:
    """Cases 118, 135 and 174."""
    pid = bring_up(node)
    begin_agent_with(node, NO_SDK)
    assert node.run("meta-data").code == 0
    assert node.run("validate-all").code == 0
    assert node.pacemaker.probe().code == 0
    assert node.run("monitor").code == 0
    started = node.run("start")
    assert started.code in (0, 5)
    assert "openstack" in log_of(node)
    for _ in range(2):
        assert is_success(node.run("stop"))
        assert not is_running(pid)
    assert node.pacemaker.probe().code == 7


def test_no_warning_of_the_interpreter_reaches_anybody(node: Node) -> None:
    """Case 120: with warnings as errors."""
    begin_agent_with(node, STRICT)
    for action in ("meta-data", "validate-all", "start", "monitor", "stop"):
        result = node.run(action, parameters=WITHOUT_CLOUD)
        assert is_success(result)
        assert result.stderr == ""


def test_no_warning_of_a_library_reaches_anybody(node: Node, cloud: ComputeApi) -> None:
    """Case 120: the same with all that a start and a stop load to reach the cloud."""
    row = cloud.row("cmp-7")
    row.disabled, row.reason = True, our_marker()
    begin_agent_with(node, STRICT)
    for action, level in (("validate-all", 10), ("start", None), ("monitor", 10), ("stop", None)):
        result = node.run(action, level=level, parameters={"bus_grace": "0"})
        assert is_success(result)
        assert result.stderr == ""
        assert action != "start" or row.may_be_chosen
    assert wait_for(lambda: row.disabled, 20)


def test_a_broken_sdk_costs_a_start_a_warning_and_the_rest_nothing(node: Node) -> None:
    """Case 118: a package that raises what is no ImportError."""
    package = node.root / "broken" / "openstack"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('out of order')\n")
    begin_agent_with(node, f"import sys\nsys.path.insert(0, {str(package.parent)!r})\n")
    for action in ("meta-data", "validate-all"):
        assert is_success(node.run(action))
    assert node.pacemaker.probe().code == 7
    assert is_success(node.run("start"))
    assert "out of order" in log_of(node)
    assert is_success(node.run("monitor"))
    result = node.run("stop")
    assert is_success(result)
    assert (result.stderr, node.is_alive()) == ("", False)
    assert "Traceback" not in log_of(node)


def test_arguments_that_are_no_text_are_kept(node: Node, cloud: ComputeApi) -> None:
    """Case 121: and the row is disabled all the same."""
    given = {"additional_parameters": f"--debug={NO_TEXT}"}
    assert is_success(node.run("start", parameters={**WITHOUT_CLOUD, **given}))
    pid = int(pid_file(node).read_bytes().split()[0])
    pid_file(node).unlink()
    assert node.run("monitor", parameters=given).code == 0
    assert is_success(node.run("stop", parameters=given))
    assert not is_running(pid)
    assert wait_for(lambda: cloud.row("cmp-7").disabled, 20)


def test_parameters_that_are_no_text_fail_no_stop(node: Node) -> None:
    """Case 121."""
    for name in ("username", "password", "region_name", "user", "enable_reasons"):
        given = {name: NO_TEXT, "head_start": "0"}
        result = node.run("stop", parameters=given)
        assert is_success(result)
        assert "Error" not in result.stderr
        node.end_helpers()


def test_a_reason_that_is_no_text_is_left(node: Node, cloud: ComputeApi) -> None:
    """Case 121: an answer of the API with a byte that is no UTF-8."""
    record = {**cloud.services.show(cloud.row("cmp-7")), "status": "disabled", "disabled_reason": "XX"}
    body = json.dumps({"services": [record]}).encode().replace(b"XX", b"a\xffb")
    cloud.fail(faults.Fault(answer=Response(200, body)), path="os-services", times=None)
    assert is_success(node.run("start", timeout=10))
    assert writes(cloud) == []
    assert "Traceback" not in log_of(node)


def test_the_helper_holds_nothing_of_the_callers_and_is_the_only_one(node: Node, cloud: ComputeApi) -> None:
    """Cases 123, 124 and 125: read to the end of file, as $(...) does; then stopped twice more."""
    bring_up(node)
    cloud.fail(faults.commit_late(60), method="PUT")
    environment = node.pacemaker.environ("stop", interval=None, timeout=30, level=None)
    environment["OCF_RESKEY_disable_deadline"] = "5s"
    began = time.monotonic()
    done = subprocess.run(
        [node.pacemaker.agent_path, "stop"], env=environment, capture_output=True, timeout=40, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    assert time.monotonic() - began < 20, "not the 60 s of the API"
    (helper,) = node.helpers()
    held = descriptors_of(helper)
    assert [held[number] for number in "012"] == ["/dev/null"] * 3
    assert [path for path in held.values() if path.startswith((str(node.root), "pipe:"))] == []
    assert os.getsid(helper) == helper
    assert command_line(helper)[0] == os.fsencode(sys.executable), "a fresh interpreter"
    for _ in range(2):
        assert is_success(node.run("stop", parameters={"disable_deadline": "5s"}))
    assert len(node.helpers()) <= 1
    assert is_quiet(node), "it ends at its deadline"


def test_the_helper_survives_the_end_of_its_actions_group(node: Node, cloud: ComputeApi) -> None:
    """Case 124: Pacemaker kills the group of an action that takes too long."""
    bring_up(node)
    cloud.fail(faults.commit_late(2), method="PUT")
    environment = node.pacemaker.environ("stop", interval=None, timeout=30, level=None)
    environment["OCF_RESKEY_head_start"] = "20s"
    with subprocess.Popen(
        [node.pacemaker.agent_path, "stop"], env=environment, start_new_session=True
    ) as stop:
        assert wait_for(lambda: cloud.count("PUT") == 1, 20)
        os.killpg(stop.pid, signal.SIGKILL)
    assert len(node.helpers()) == 1
    assert wait_for(lambda: cloud.row("cmp-7").disabled, 20)


def test_the_daemon_inherits_no_descriptor_and_no_lock(running: tuple[Node, ComputeApi]) -> None:
    """Case 127."""
    node, _ = running
    assert node.pid is not None
    assert set(descriptors_of(node.pid)) == {"0", "1", "2"}
    for lock in (node.state_dir / "nova-compute.lock", Path(f"{pid_file(node)}.lock")):
        descriptor = os.open(lock, os.O_RDWR)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)


def test_stops_at_once_send_one_disable(node: Node, cloud: ComputeApi) -> None:
    """Case 128; the lock file of a process that died long ago lies there."""
    bring_up(node)
    node.state_dir.mkdir(mode=0o700)
    (node.state_dir / "nova-compute.lock").write_text("999999\n")
    codes: list[int] = []
    stops = [threading.Thread(target=lambda: codes.append(node.run("stop").code)) for _ in range(6)]
    for stop in stops:
        stop.start()
    for stop in stops:
        stop.join()
    assert codes == [0] * 6
    assert is_quiet(node)
    assert len(writes(cloud)) == 1
    assert cloud.row("cmp-7").disabled


@pytest.mark.parametrize("junk", [b"abc", b"", b"1\n", b"\xff\0"], ids=repr)
def test_junk_in_a_lock_file_is_no_holder(node: Node, junk: bytes) -> None:
    """Case 131."""
    node.state_dir.mkdir(mode=0o700)
    node.run_dir.mkdir()
    for lock in (node.state_dir / "nova-compute.lock", Path(f"{pid_file(node)}.lock")):
        lock.write_bytes(junk)
    for action in ("start", "monitor", "stop"):
        assert is_success(node.run(action))
    assert "lock" not in log_of(node)


@pytest.mark.parametrize("name", ["nova-compute.json", "nova-compute.lock", "."])
@pytest.mark.parametrize("kind", ["a FIFO", "a link", "a directory"])
def test_what_is_planted_in_place_of_the_state_is_named_and_not_followed(
    node: Node, name: str, kind: str
) -> None:
    """Case 132."""
    precious = node.root / "precious"
    precious.write_text("precious")
    path = node.state_dir
    if name != ".":
        node.state_dir.mkdir(mode=0o700)
        path = node.state_dir / name
    if kind == "a FIFO":
        os.mkfifo(path)
    elif kind == "a link":
        path.symlink_to(precious)
    else:
        path.mkdir()
        path.chmod(0o777)
    assert node.run("monitor").code == 7
    assert is_success(node.run("stop", timeout=20))
    assert str(path) in log_of(node)
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("field", ["machine_id", "host", "resource"])
def test_a_record_of_somebody_else_is_set_aside_and_the_row_decides(
    running: tuple[Node, ComputeApi], field: str
) -> None:
    """Case 133."""
    node, cloud = running
    row = cloud.row("cmp-7")
    assert is_quiet(node)
    path = node.state_dir / "nova-compute.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, field: "another"}))
    row.disabled, row.reason = True, "RAM swap"
    assert is_success(node.run("start"))
    assert (row.disabled, row.reason) == (True, "RAM swap")
    assert "set aside" in log_of(node)


def test_a_recycled_pid_in_the_record_is_no_helper(running: tuple[Node, ComputeApi]) -> None:
    """Case 131: neither waited for nor ended."""
    node, cloud = running
    row = cloud.row("cmp-7")
    row.disabled, row.reason = False, None
    assert is_quiet(node)
    with subprocess.Popen(["sleep", "60"]) as stranger:
        process = ProcTable().identify(stranger.pid)
        assert process is not None
        path = node.state_dir / "nova-compute.json"
        record = json.loads(path.read_text())
        believed = {"pid": process.pid, "start": process.start - 5, "boot_id": process.boot_id}
        record |= {
            "want": "disabled",
            "reconciler": {"process": believed, "generation": record["generation"], "until": 1e9},
        }
        path.write_text(json.dumps(record))
        assert is_success(node.run("stop"))
        assert wait_for(lambda: row.disabled, 20)
        assert stranger.poll() is None
        stranger.kill()
