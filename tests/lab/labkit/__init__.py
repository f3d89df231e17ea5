# SPDX-License-Identifier: Apache-2.0
"""A real Nova and a real Pacemaker cluster in namespaces of this machine.

Modules, from the ground up: `layout` (where things lie), `packages` and `venv` (what is installed), `network`
and `node` (machines), `service` (processes on them), `settings` (configuration texts), `control` (the cloud),
`cluster` (Pacemaker), `compute` (nova-compute by hand), `cloud` and `tap` (what the cloud says and was asked),
`lab` (all of it together), `cli`.
"""
