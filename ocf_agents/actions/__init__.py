# SPDX-License-Identifier: Apache-2.0
"""What the OCF actions do, for every agent that `agents` declares, and the wiring of the parts."""
