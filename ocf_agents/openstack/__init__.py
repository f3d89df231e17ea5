# SPDX-License-Identifier: Apache-2.0
"""The cloud's APIs: rows in, rows out. openstacksdk is imported here alone, and only to send a request."""
