# SPDX-License-Identifier: Apache-2.0
"""Many hosts in one simulation: the real guard in each, one clock, one cloud of fixed capacity."""
