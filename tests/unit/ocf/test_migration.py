# SPDX-License-Identifier: Apache-2.0
"""Between which nodes a resource moves."""

from __future__ import annotations

from ocf_agents.ocf.migration import Migration

M = "OCF_RESKEY_CRM_meta_migrate_"


def test_it_names_both_nodes() -> None:
    migration = Migration({M + "source": "node1", M + "target": "node2"})
    assert (migration.source, migration.target) == ("node1", "node2")


def test_outside_of_a_migration_there_are_none() -> None:
    assert (Migration({}).source, Migration({}).target) == ("", "")
