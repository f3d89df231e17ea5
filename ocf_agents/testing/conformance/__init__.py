# SPDX-License-Identifier: Apache-2.0
"""Does a resource agent keep to the OCF standard, and to what Pacemaker expects? Any agent, in any language.

`engine.check` runs the rules on one agent; `ocf-agents check` and the pytest plugin are made of it.
"""
