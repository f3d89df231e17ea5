# SPDX-License-Identifier: Apache-2.0
"""After all stories: the agents' password and tokens are nowhere but where an operator has put them."""

from __future__ import annotations

import pytest
from labkit.canary import Watch, files_with, is_pacemakers_own
from labkit.cluster import Cluster
from labkit.lab import Lab
from labkit.resource import Resource

CLOUDS = "etc/openstack/clouds.yaml"
CHECKOUT = "lab/checkout"


@pytest.fixture
def secrets(watch: Watch) -> list[bytes]:
    """The password, and the tokens that have passed the proxy in this run."""
    return list(watch.secrets)


def test_no_process_was_given_them(watch: Watch, configured: Resource) -> None:
    """In no command line of either node while the stories ran; not in nova-compute's environment."""
    assert watch.found == set()
    assert any(b"helper.py" in line for line in watch.command_lines), "the watch has seen helpers"
    assert watch.services > 10, "the watch has seen nova-compute"


def test_the_disks_of_the_nodes_hold_them_in_one_file_only(
    lab: Lab, secrets: list[bytes], configured: Resource
) -> None:
    """Logs, records, histories, the cluster's log, run files; and what the nodes' daemons have printed."""
    for node in lab.cluster.nodes:
        disk = node.home / "disk"
        holders = [path for path in files_with(secrets, disk) if not is_pacemakers_own(path, disk, secrets)]
        assert holders == [CLOUDS], f"the search finds it there, and only there, on {node.name}"
        assert list(files_with(secrets, node.home / "log")) == []
        assert list(files_with(secrets, node.path("/run"), but=CHECKOUT)) == []


def test_the_cloud_has_written_none_of_them_down(lab: Lab, secrets: list[bytes]) -> None:
    """Request logs, the proxy's log, the logs of the cloud's services, the report."""
    assert list(files_with(secrets, lab.control.home / "log")) == []


def test_the_cluster_shows_none_of_them(cluster: Cluster, secrets: list[bytes]) -> None:
    """Its status section holds results and exit reasons; crm_mon shows them."""
    shown = [
        cluster.run("crm_mon", "--one-shot", "--show-detail", "--operations", "--failcounts", "--inactive"),
        cluster.run("cibadmin", "--query", "--scope=status"),
    ]
    for text in shown:
        assert "nova-compute" in text
        assert not any(secret in text.encode() for secret in secrets)
