# SPDX-License-Identifier: Apache-2.0
"""The node goes down and comes back: /run is gone, the boot id is another, the clock begins anew."""

from __future__ import annotations

import shutil

from labkit.cluster import Cluster
from labkit.report import Entry
from labkit.resource import STATE_DIR, Resource
from words import HOLD, assert_disabled_by_us, assert_in_service, assert_stays_in_service, writes


def test_orderly_reboot(compute: Resource, cluster: Cluster, story: Entry) -> None:
    """The node is shut down in order and boots."""
    cluster.shut_down(compute.node)
    assert_disabled_by_us(compute)

    mark = compute.journal.mark()
    cluster.start(compute.node)
    assert compute.wait_for_action("start", mark).code == 0
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


def test_power_loss(compute: Resource, cluster: Cluster, story: Entry) -> None:
    """The node loses its power while nova-compute runs, and boots."""
    compute.node.kill()
    mark = compute.journal.mark()
    cluster.start(compute.node)
    assert compute.wait_for_action("start", mark).code == 0
    assert_in_service(compute)
    assert writes(compute.requests) == [], "it was enabled all the time"
    assert_stays_in_service(compute, HOLD)


def test_record_lost(compute: Resource, cluster: Cluster, story: Entry) -> None:
    """Stopped; then the node loses its power and the record; healed by the marker."""
    compute.stop()
    assert_disabled_by_us(compute)
    compute.node.kill()
    shutil.rmtree(compute.node.disk(STATE_DIR))

    cluster.start(compute.node)
    start = compute.start()
    assert start.code == 0
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
