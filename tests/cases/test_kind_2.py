# SPDX-License-Identifier: Apache-2.0
"""Cases of kind 2: stop and start against an unwilling API, and with what is wrong around them."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute.certificates import Authority
from ocf_agents.testing.compute_api import Account, ComputeApi
from ocf_agents.testing.node import Node, is_running, wait_for

from .place import (
    bring_up,
    clean_up,
    is_success,
    log_of,
    make_node,
    our_marker,
    rewrite_daemon,
    told,
    writes,
)

POLITE = "lambda number, frame: sys.exit(0)"
NO_CREDENTIALS = {"auth_url": "", "username": "", "password": "", "project_name": ""}
NONSENSE = {
    "disable_on_stop": "maybe",
    "enable_on_start": "perhaps",
    "hold": "abc",
    "api_timeout": "-1",
    "head_start": "soon",
    "disable_deadline": "2x",
    "interface": "inside",
    "insecure": "enabled",
    "config": "a/relative/path",
    "log": "relative",
    "cacert": "relative",
    "supervisor": "magic",
    "additional_parameters": "--debug 'unclosed",
}


def test_the_disable_is_sent_while_the_service_still_runs(node: Node, cloud: ComputeApi) -> None:
    """Case 22; what a Nova that does not answer does to a stop is in the scenarios."""
    pid = bring_up(node)
    cloud.fail(faults.answer_late(0.5), method="PUT")
    was_alive: list[bool] = []

    def watch() -> None:
        wait_for(lambda: cloud.count("PUT") == 1, 60)
        was_alive.append(is_running(pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    result = node.run("stop", timeout=240, parameters={"head_start": "50s"})
    watcher.join()
    assert is_success(result)
    assert was_alive == [True]
    assert not is_running(pid)


@pytest.mark.parametrize("timeout", [5, 0.999, 0])
def test_a_daemon_that_does_not_listen_is_killed_inside_the_timeout(node: Node, timeout: float) -> None:
    """Cases 24, 27 and 97: no reason, for nothing went wrong."""
    rewrite_daemon(node, POLITE, "signal.SIG_IGN")
    bring_up(node)
    environment = {"OCF_RESKEY_CRM_meta_timeout": str(int(timeout * 1000))}
    result = node.run("stop", timeout=30, env_extra=environment)
    assert is_success(result)
    assert (node.is_alive(), result.reason) == (False, None)
    assert timeout < 1 or result.seconds < timeout


@pytest.mark.parametrize("parameters", [{}, NO_CREDENTIALS, NONSENSE], ids=["files", "credentials", "all"])
def test_what_is_missing_or_wrong_neither_hides_the_service_nor_keeps_it_running(
    node: Node, parameters: dict[str, str]
) -> None:
    """Cases 29 to 32."""
    pid = bring_up(node)
    node.binary.unlink()
    node.config.unlink()
    assert node.pacemaker.probe(parameters=parameters).code == 0
    assert node.run("monitor", parameters=parameters).code == 0
    started = node.run("start", parameters=parameters)
    assert started.code in (2, 5, 6)
    assert started.reason
    assert is_success(node.run("stop", parameters=parameters))
    assert not is_running(pid)
    assert is_success(node.run("stop", parameters=parameters))


@pytest.mark.parametrize("name", [name for name in NONSENSE if name != "config"])
def test_a_start_with_one_wrong_parameter_names_it_and_starts_nothing(node: Node, name: str) -> None:
    """Case 32."""
    result = node.run("start", parameters={name: NONSENSE[name]})
    assert result.code == 6
    assert f"parameter {name} " in (result.reason or "")
    assert not node.is_alive()


def test_a_dead_service_a_torn_record_and_a_dead_api_are_no_failed_stop(
    node: Node, cloud: ComputeApi
) -> None:
    """Cases 33 and 105."""
    node.state_dir.mkdir(mode=0o700)
    record = node.state_dir / "nova-compute.json"
    cloud.compute.stop()
    cloud.identity.stop()
    for content in (b"", b"\0" * 300, b'{"version": 1, "resou', b'{"version": 99}', b"[" * 60000, b"\xff"):
        record.write_bytes(content)
        result = node.run("stop")
        assert is_success(result)
        assert result.stderr == ""
        node.end_helpers()
    assert len(list(node.state_dir.glob("nova-compute.json.bad-*"))) == 6


def test_two_regions_and_none_named_are_not_touched(tmp_path: Path) -> None:
    """Cases 36 and 37."""
    with ComputeApi(regions=("RegionOne", "RegionTwo")) as cloud:
        node = make_node(tmp_path, cloud)
        try:
            other = cloud.add("cmp-7", region="RegionTwo")
            started = node.run("start")
            assert is_success(started)
            assert "region_name" in log_of(node)
            assert is_success(node.run("stop", parameters={"head_start": "0"}))
            assert wait_for(lambda: node.helpers() != [])
            node.end_helpers()
            assert [one for one in cloud.requests if "os-services" in one.path] == []
            bring_up(node)
            assert is_success(node.run("stop", parameters={"region_name": "RegionTwo"}))
            assert wait_for(lambda: other.disabled, 10)
            assert not cloud.row("cmp-7").disabled
        finally:
            clean_up(node)


@pytest.mark.parametrize(
    ("word", "is_verified"),
    [
        (None, True),
        ("0", True),
        ("False", True),
        ("off", True),
        ("1", False),
        ("True", False),
        ("yes", False),
    ],
)
def test_certificates_are_verified_unless_a_word_for_true_says_otherwise(
    tmp_path: Path, word: str | None, is_verified: bool
) -> None:
    """Case 35: an authority that nobody trusts. Nobody is flooded with warnings."""
    with ComputeApi(tls=Authority(tmp_path).server_context()) as cloud:
        node = make_node(tmp_path, cloud)
        row = cloud.row("cmp-7")
        row.disabled, row.reason = True, our_marker()
        try:
            result = node.run("start", parameters={} if word is None else {"insecure": word})
            assert is_success(result)
            assert result.stderr == ""
            assert row.disabled is is_verified
            assert (cloud.requests == []) is is_verified
        finally:
            clean_up(node)


def test_an_odd_password_in_a_file_works_and_a_file_for_all_to_read_is_told(tmp_path: Path) -> None:
    """Case 41."""
    odd = "p'\"$HOME%s#; \\{x}"
    with ComputeApi(account=Account(password=odd)) as cloud:
        node = make_node(tmp_path, cloud)
        auth = {**cloud.credentials(), "user_domain_name": "Default", "project_domain_name": "Default"}
        file = tmp_path / "clouds.yaml"
        file.write_text(json.dumps({"clouds": {"ha": {"auth": auth}}}))
        given = {**node.pacemaker.parameters, "cloud": "ha", "clouds_file": file}
        for name in cloud.credentials():
            del given[name]
        node.pacemaker = replace(node.pacemaker, parameters=given)
        row = cloud.row("cmp-7")
        try:
            for mode, is_open in ((0o600, False), (0o640, False), (0o644, True)):
                file.chmod(mode)
                node.log.unlink(missing_ok=True)
                row.disabled, row.reason = True, our_marker()
                assert is_success(node.run("start"))
                assert not row.disabled
                assert ("clouds.yaml holds a secret and is open to others" in log_of(node)) is is_open
                assert odd not in log_of(node)
            assert is_success(node.run("stop", parameters={"head_start": "30s"}))
            assert row.disabled
            assert [path for path in node.state_dir.iterdir() if odd in path.read_text()] == []
        finally:
            clean_up(node)


def test_a_missing_ca_file_is_named_by_a_start_that_cannot_enable(node: Node, cloud: ComputeApi) -> None:
    """Case 39; a stop does not mind."""
    bring_up(node)
    assert is_success(node.run("stop"))
    assert wait_for(lambda: cloud.row("cmp-7").disabled, 20)
    missing = {"cacert": "/no-such-ca.pem"}
    failed = node.run("start", parameters=missing)
    assert failed.code == 1
    assert "/no-such-ca.pem (cacert)" in (failed.reason or "")
    assert is_success(node.run("stop", parameters=missing))
    assert not node.is_alive()


def test_an_api_that_comes_late_gets_one_enable(node: Node, cloud: ComputeApi) -> None:
    """Case 45."""
    row = cloud.row("cmp-7")
    row.disabled, row.reason = True, our_marker()
    cloud.fail(faults.status(503), times=None)
    timer = threading.Timer(1.5, cloud.heal)
    timer.start()
    assert is_success(node.run("start"))
    timer.join()
    assert (row.disabled, writes(cloud)) == (False, [{"status": "enabled"}])


def test_no_command_line_client_is_called_and_the_environment_names_no_cloud(
    node: Node, cloud: ComputeApi, tmp_path: Path
) -> None:
    """Cases 47 and 48."""
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    for name in ("openstack", "nova", "python3", "sudo", "ps", "pgrep", "netstat", "ss", "lsof", "kill"):
        (stubs / name).write_text(f"#!/bin/sh\necho $0 >> {tmp_path}/called\nsleep 30\n")
        (stubs / name).chmod(0o755)
    environment: dict[str, str | None] = {
        "PATH": str(stubs),
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "ALL_PROXY"), "http://127.0.0.1:9"),
        "no_proxy": "10.0.0.0/8",
        "OS_CLOUD": "another",
        "OS_AUTH_URL": "http://127.0.0.1:9/v3",
        "REQUESTS_CA_BUNDLE": "/nonexistent",
    }
    row = cloud.row("cmp-7")
    row.disabled, row.reason = True, our_marker()
    assert is_success(node.run("start", env_extra=environment))
    assert row.may_be_chosen
    assert node.run("monitor", env_extra=environment).code == 0
    assert is_success(node.run("stop", env_extra=environment))
    assert wait_for(lambda: row.disabled, 20)
    assert not (tmp_path / "called").exists()


def test_two_rows_or_a_stub_are_not_written_to(node: Node, cloud: ComputeApi) -> None:
    """Cases 49, 53, 55 and 163; rows of similar names lie beside."""
    for name in ("cmp-7.a.net", "CMP-7", "cmp-7.", "cmp"):
        cloud.add(name, disabled=True, reason=our_marker())
    for fault in (faults.two_rows(), faults.stub_row()):
        bring_up(node)
        cloud.fail(fault, path="os-services", times=None)
        assert is_success(node.run("stop", parameters={"head_start": "0"}))
        assert wait_for(lambda: cloud.count("GET", "os-services") > 0, 20)
        node.end_helpers()
        cloud.heal()
        cloud.forget()
    assert cloud.count("PUT") == 0
    assert not cloud.row("cmp-7").disabled


def test_a_start_waits_for_a_cell_that_is_down(node: Node, cloud: ComputeApi) -> None:
    """Case 53: unknown is not enabled."""
    row = cloud.row("cmp-7")
    row.disabled, row.reason = True, our_marker()
    cloud.fail(faults.stub_row(), path="os-services", times=2)
    assert is_success(node.run("start"))
    assert cloud.count("GET", "os-services") > 2
    assert (row.disabled, writes(cloud)) == (False, [{"status": "enabled"}])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (faults.listing([]), "no row for host 'cmp-7' yet"),
        (faults.two_rows(), "2 rows of nova-compute on cmp-7"),
        (faults.stub_row(), "UNKNOWN"),
    ],
    ids=["none", "two", "a stub"],
)
def test_a_start_that_finds_no_row_of_its_own_warns_and_writes_nothing(
    node: Node, cloud: ComputeApi, fault: faults.Fault, said: str
) -> None:
    """Cases 49, 53 and 55: nothing of ours is known to be in effect."""
    for name in ("cmp-7.a.net", "CMP-7", "cmp"):
        cloud.add(name, disabled=True, reason=our_marker(host=name))
    cloud.fail(fault, path="os-services", times=None)
    assert is_success(node.run("start", env_extra=told(10)))
    assert said in log_of(node)
    assert is_success(node.run("stop", parameters={"head_start": "1s"}))
    node.end_helpers()
    assert writes(cloud) == []
