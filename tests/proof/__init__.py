# SPDX-License-Identifier: Apache-2.0
"""The machine that tries everything: the real guard under every order of events, within bounds."""
