# SPDX-License-Identifier: Apache-2.0
"""Pacemaker OCF resource agents in Python, and the toolkit they are made of."""

__version__ = "0.1.0"
