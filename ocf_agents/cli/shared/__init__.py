# SPDX-License-Identifier: Apache-2.0
"""What several commands share: their options, and how answers look."""
