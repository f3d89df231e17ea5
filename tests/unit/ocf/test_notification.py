# SPDX-License-Identifier: Apache-2.0
"""What a notify action is told."""

from __future__ import annotations

import pytest

from ocf_agents.ocf.notification import Notification

M = "OCF_RESKEY_CRM_meta_notify_"


def test_it_says_when_and_what() -> None:
    notification = Notification({M + "type": "pre", M + "operation": "promote"})
    assert (notification.when, notification.operation) == ("pre", "promote")


def test_instances_and_their_nodes_come_in_the_same_order() -> None:
    told = {M + "promote_resource": "db:1 db:0", M + "promote_uname": "node2 node1 "}
    notification = Notification(told)
    assert notification.instances("promote") == ["db:1", "db:0"]
    assert notification.nodes("promote") == ["node2", "node1"]


def test_an_empty_group_is_a_blank_or_nothing_at_all() -> None:
    assert Notification({M + "stop_resource": " "}).instances("stop") == []
    assert Notification({}).nodes("available") == []
    assert Notification({}).when == ""


@pytest.mark.parametrize(("group", "old"), [("promoted", "master"), ("unpromoted", "slave")])
def test_roles_are_understood_in_new_words_and_old(group: str, old: str) -> None:
    assert Notification({f"{M}{old}_uname": "node1"}).nodes(group) == ["node1"]
    both = {f"{M}{old}_uname": "node1", f"{M}{group}_uname": " "}
    assert Notification(both).nodes(group) == [], "the new word counts where both are said"
