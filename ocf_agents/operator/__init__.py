# SPDX-License-Identifier: Apache-2.0
"""What the operator's command knows: the resources of a host, who disabled it, what would happen next."""
