# SPDX-License-Identifier: Apache-2.0
"""How a service runs on this host: as a process of ours, seen through /proc.

A monitor loads `supervisor`, `process`, `command`, `pidfile`, `proc` and `host`; those import
nothing that a bare interpreter has not loaded. Starting and stopping live in modules of their own.
"""
