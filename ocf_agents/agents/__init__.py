# SPDX-License-Identifier: Apache-2.0
"""The resource agents: one declaration each."""
