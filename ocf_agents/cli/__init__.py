# SPDX-License-Identifier: Apache-2.0
"""The command `ocf-agents`: a module for each of its commands. Nothing imports this room."""
