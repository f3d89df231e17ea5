# SPDX-License-Identifier: Apache-2.0
"""What would bite at night, each with its mend."""
