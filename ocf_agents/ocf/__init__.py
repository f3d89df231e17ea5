# SPDX-License-Identifier: Apache-2.0
"""The OCF resource agent standard (1.1 and 1.0) in Python.

A monitor loads this package on every run, so its modules import nothing that a bare interpreter
has not loaded already, and this file imports none of them.
"""
