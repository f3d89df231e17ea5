# SPDX-License-Identifier: Apache-2.0
"""A look around for people, on the embedded cloud and on a real one."""

from __future__ import annotations

import time

from ocf_agents.openstack.survey import survey
from tests.contract.cloud import Access, Client


def test_it_tells_who_we_are_and_what_there_is_and_changes_nothing(nova: Client, access: Access) -> None:
    before = nova.list()
    found = survey(access.settings(), timeout=30.0)
    assert "admin" in found.roles
    assert found.refusal == ""
    assert found.newest is not None
    assert found.newest >= (2, 53)
    assert access.host in [one.host for one in found.rows]
    assert len(found.regions) >= 1
    assert found.issued is not None
    assert abs(found.issued - time.time()) < 3600
    after = nova.list()
    assert [(row["id"], row["status"], row["disabled_reason"]) for row in after] == [
        (row["id"], row["status"], row["disabled_reason"]) for row in before
    ]
