# SPDX-License-Identifier: Apache-2.0
"""Who disabled the service: record, marker, verdict and reconciler."""
