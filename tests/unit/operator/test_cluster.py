# SPDX-License-Identifier: Apache-2.0
"""Where the cluster's configuration is read from."""

from __future__ import annotations

from pathlib import Path

import pytest

from ocf_agents.operator import cluster
from ocf_agents.operator.cib import Configured
from ocf_agents.operator.trouble import Unusable

PRIMITIVE = "<primitive id='x' class='ocf' type='Dummy'/>"
CIB = f"<cib><configuration><resources>{PRIMITIVE}</resources></configuration></cib>"


def fake_cibadmin(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "cibadmin"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    monkeypatch.setattr(cluster, "PATH", f"{tmp_path}:/usr/bin:/bin")


def test_the_file_of_the_variable_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cibadmin(tmp_path, "exit 0", monkeypatch)
    path = tmp_path / "cib.xml"
    path.write_text(CIB)
    found = cluster.read({"CIB_file": str(path)})
    assert found.cluster is not None
    assert [one.name for one in found.cluster.resources] == ["x"]
    assert not found.is_running


def test_the_running_cluster_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cibadmin(tmp_path, f'[ "$1" = --query ] && echo "{CIB}"', monkeypatch)
    found = cluster.read({})
    assert found.cluster is not None
    assert found.is_running


def test_a_stopped_cluster_leaves_its_file_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_cibadmin(tmp_path, "echo 'could not connect' >&2; exit 102", monkeypatch)
    path = tmp_path / "on-disk.xml"
    path.write_text(CIB)
    found = cluster.read({}, on_disk=str(path))
    assert found.cluster is not None
    assert not found.is_running
    assert "could not connect" in found.text


def test_a_cluster_that_does_not_answer_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_cibadmin(tmp_path, "exec sleep 60", monkeypatch)
    monkeypatch.setattr(cluster, "PATIENCE", -1.0)
    found = cluster.read({}, on_disk=str(tmp_path / "none"))
    assert found.cluster is None
    assert "did not answer" in found.text


def test_no_cluster_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATH", str(tmp_path))
    assert cluster.read({}, on_disk=str(tmp_path / "none")) == (None, "there is no cibadmin here", False)


def test_a_file_that_is_no_cib_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cib.xml"
    path.write_text("<html/>")
    with pytest.raises(Unusable, match=r"cib\.xml is no cluster configuration"):
        cluster.read({"CIB_file": str(path)})


def test_a_secret_that_pacemaker_keeps_out_of_the_cib_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "nc").mkdir()
    (tmp_path / "nc" / "password").write_text("geheim\n")
    one = Configured("nc", "ocf", "h", "t", {"password": "lrm://", "cloud": "ha", "username": "lrm://"})
    found = cluster.with_secrets(one, str(tmp_path))
    assert found == {"password": "geheim", "cloud": "ha", "username": ""}
