# SPDX-License-Identifier: Apache-2.0
"""An agent's declaration as tables."""

from __future__ import annotations

import pytest

from ocf_agents.operator import catalog, declared
from ocf_agents.operator.trouble import NotFound


@pytest.mark.parametrize("kind", catalog.kinds(), ids=lambda kind: kind.name)
def test_each_parameter_and_each_action_is_told(kind: catalog.Kind) -> None:
    agent = kind.agent
    assert [row[0] for row in declared.parameters(agent).rows] == [one.name for one in agent.parameters]
    assert [row[0] for row in declared.actions(agent).rows] == [one.name for one in agent.actions]
    assert len(declared.as_json(agent)["parameters"]) == len(agent.parameters)
    for one in agent.parameters:
        texts = [fact.text for fact in declared.parameter(agent, one.name).facts]
        assert one.longdesc in texts


def test_an_agent_by_its_name_and_as_the_cluster_writes_it() -> None:
    assert catalog.kind_of("nova-compute") == catalog.kind_of("ocf:heartbeat:nova-compute")
    with pytest.raises(NotFound, match="nova-compute"):
        catalog.kind_of("nix")


def test_a_parameter_that_it_has_not_is_answered_with_those_that_it_has() -> None:
    agent = catalog.kind_of("nova-compute").agent
    with pytest.raises(NotFound, match="cloud, clouds_file"):
        declared.parameter(agent, "nix")
