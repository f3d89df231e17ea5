# SPDX-License-Identifier: Apache-2.0
"""A real Nova and a real Pacemaker cluster in namespaces of this machine.

From the ground up: `layout` (where things lie), `packages` and `venv` (what is installed), `network`, `node`
and its PID 1 `init` (machines), `service` (processes on them), `settings` (configuration texts), `control`,
`catalog` and `wsgi` (the cloud), `cluster` and `journal` (Pacemaker), `compute` (nova-compute on a node),
`cloud`, `people` and `tap` (what the cloud says, to whom, and was asked), `systemd`, `remote` and `installed`
(nodes of another kind), `lab` (all of it together), `resource`, `documents` and `report` (for the stories),
`proxy`, `firewall`, `power` with `fence_lab` and `load` (what befalls it), `cli`.
"""
