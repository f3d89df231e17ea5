# SPDX-License-Identifier: Apache-2.0
"""All rules, in the order in which they are tried: what is harmless first."""

from __future__ import annotations

from ocf_agents.testing.conformance.rule import Rule

from . import actions, environment, file, lifecycle, metadata, parameters, privacy, robustness, roles

GROUPS = (
    file.GROUP,
    metadata.GROUP,
    lifecycle.GROUP,
    actions.GROUP,
    roles.GROUP,
    parameters.GROUP,
    environment.GROUP,
    privacy.GROUP,
    robustness.GROUP,
)
RULES: tuple[Rule, ...] = tuple(rule for group in GROUPS for rule in group.rules)
