# SPDX-License-Identifier: Apache-2.0
"""The parts of the embedded compute API; `ocf_agents.testing.compute_api` puts them together."""
