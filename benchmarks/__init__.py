# SPDX-License-Identifier: Apache-2.0
"""How long a monitor and a stop take, beside what bounds them: `python3 -m benchmarks`; many hosts
at once: `python3 -m benchmarks scale`."""
