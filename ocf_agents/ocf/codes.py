# SPDX-License-Identifier: Apache-2.0
"""Exit codes of a resource agent (OCF 1.1, "Return codes"; 190 and 191 are Pacemaker's)."""

from __future__ import annotations

OCF_SUCCESS = 0
OCF_ERR_GENERIC = 1
OCF_ERR_ARGS = 2
OCF_ERR_UNIMPLEMENTED = 3
OCF_ERR_PERM = 4
OCF_ERR_INSTALLED = 5
OCF_ERR_CONFIGURED = 6
OCF_NOT_RUNNING = 7
OCF_RUNNING_PROMOTED = 8
OCF_FAILED_PROMOTED = 9
OCF_DEGRADED = 190
OCF_DEGRADED_PROMOTED = 191
