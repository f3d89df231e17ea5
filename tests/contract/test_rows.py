# SPDX-License-Identifier: Apache-2.0
"""The guard's port, through the real openstacksdk, on both clouds."""

from __future__ import annotations

import uuid

import pytest

from ocf_agents.guard.row import APPLIED, REFUSED
from ocf_agents.openstack.rows import ComputeRows
from tests.contract.cloud import Access, Client


@pytest.fixture
def rows(nova: Client) -> ComputeRows:
    return ComputeRows(nova.access.settings(), nova.access.host, timeout=30)


def test_a_row_is_read_whole(nova: Client, rows: ComputeRows) -> None:
    nova.put({"status": "disabled", "disabled_reason": "RAM swap"})
    row, shown = rows.read(), nova.row()
    assert row is not None
    assert (row.id, row.disabled, row.reason) == (shown["id"], True, "RAM swap")
    assert (row.up, row.forced_down) == (True, False)
    assert row.beat[:10] == shown["updated_at"][:10]


def test_a_disable_without_a_reason_reads_as_none(nova: Client, rows: ComputeRows) -> None:
    nova.put({"status": "disabled"})
    row = rows.read()
    assert row is not None
    assert (row.disabled, row.reason) == (True, None)


def test_disable_and_enable_are_applied(nova: Client, rows: ComputeRows) -> None:
    row_id = nova.row()["id"]
    assert rows.disable(row_id, "maintenance é").outcome == APPLIED
    assert nova.row()["disabled_reason"] == "maintenance é"
    assert rows.enable(row_id).outcome == APPLIED
    assert nova.row()["status"] == "enabled"


def test_an_unknown_host_is_no_row(access: Access) -> None:
    assert ComputeRows(access.settings(), "no-such-host", timeout=30).read() is None
    assert ComputeRows(access.settings(), access.host.upper(), timeout=30).read() is None


def test_an_unknown_id_is_refused(rows: ComputeRows) -> None:
    answer = rows.enable(str(uuid.uuid4()))
    assert answer.outcome == REFUSED
    assert "404" in answer.text


def test_a_reason_that_is_too_long_is_refused(nova: Client, rows: ComputeRows) -> None:
    answer = rows.disable(nova.row()["id"], "x" * 256)
    assert answer.outcome == REFUSED
    assert nova.row()["status"] == "enabled"
