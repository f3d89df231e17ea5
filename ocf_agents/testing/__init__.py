# SPDX-License-Identifier: Apache-2.0
"""For anyone's tests: run an agent as Pacemaker does, and a compute API to talk to."""
