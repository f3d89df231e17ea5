# SPDX-License-Identifier: Apache-2.0
# `make` lists what there is. PYTHON chooses the interpreter (3.9 or newer), VENV where its
# libraries go, TESTS what `make test` runs, WORKERS how many at a time (most of a story is waiting).

PYTHON ?= python3
VENV ?= .venv
TESTS ?=
WORKERS ?= 3
PROVIDER ?= heartbeat
PY = $(VENV)/bin/python
SOURCES = ocf_agents tests benchmarks docs heartbeat/nova-compute docs/examples/stub \
	packaging packaging/build packaging/bundle packaging/documents packaging/install
AGENTS = heartbeat/nova-compute docs/examples/stub

.PHONY: help demo test check format bench scale proof prove crashes crashes-all conformance tools lab lab-long clean \
	deb rpm release packages

help:
	@echo 'make demo      the operator'\''s story, told as it happens, in less than a minute'
	@echo 'make test      the tests that need no root and no other machine'
	@echo 'make check     style and types'
	@echo 'make bench     how long monitor and stop take, beside their bounds'
	@echo 'make scale     a thousand guards in one simulation, twenty real hosts at once, and docs/scale.svg'
	@echo 'make proof     the guard under every order of events, within bounds (minutes; prove: an hour)'
	@echo 'make conformance  our checker, and ocf-tester, on the agents that are installed here (Debian 12)'
	@echo 'make lab       scenarios on a real Nova and a real Pacemaker (root, Debian 12)'
	@echo 'make lab-long  the same, more often and for longer'
	@echo 'make crashes   the agent killed at its calls, bad records, bad disks (minutes; crashes-all: hours)'
	@echo 'make tools     pcs, crmsh and crm_resource take the agents (root, tests/tools/packages.txt)'
	@echo 'make deb       Debian packages in build/release (needs packaging/packages.txt; also rpm, release: all)'
	@echo 'make packages  the packages built, installed into roots of their own, upgraded and removed (root)'
	@echo 'make format    put the sources into shape'
	@echo 'make clean     remove what was made here'

demo: $(VENV)/.ready-test
	@$(PY) -m ocf_agents.cli.main demo

test: $(VENV)/.ready-test
	$(PY) -m pytest -n $(WORKERS) --dist worksteal $(TESTS)

check: $(VENV)/.ready-check
	$(PY) -m ruff check $(SOURCES)
	$(PY) -m ruff format --check $(SOURCES)
	$(PY) -m mypy --strict ocf_agents benchmarks
	@for agent in $(AGENTS); do \
	  echo "$(PY) -m mypy --strict $$agent"; $(PY) -m mypy --strict --scripts-are-modules $$agent || exit 1; \
	done
	MYPYPATH=packaging $(PY) -m mypy --strict --scripts-are-modules packaging/build packaging/bundle packaging/documents packaging/install

format: $(VENV)/.ready-check
	$(PY) -m ruff check --fix $(SOURCES)
	$(PY) -m ruff format $(SOURCES)

bench: $(VENV)/.ready-test
	@$(PY) -m benchmarks

scale: $(VENV)/.ready-test
	@$(PY) -m benchmarks scale

proof: $(VENV)/.ready-test
	@$(PY) -m tests.proof all

prove: $(VENV)/.ready-test
	@$(PY) -m tests.proof long

crashes: $(VENV)/.ready-test
	@$(PY) -m tests.crashes

crashes-all: $(VENV)/.ready-test
	@$(PY) -m tests.crashes --all

conformance: $(VENV)/.ready-test
	$(PY) -m pytest -n $(WORKERS) tests/conformance

tools: $(VENV)/.ready-test
	$(PY) -m pytest -n $(WORKERS) tests/tools

# The version is that of ocf_agents/__init__.py; PROVIDER names the agents' OCF provider.
deb:
	packaging/build --provider $(PROVIDER) deb

rpm:
	packaging/build --provider $(PROVIDER) rpm

release:
	packaging/build --provider $(PROVIDER)

packages: $(VENV)/.ready-test
	$(PY) -m pytest tests/packages

lab:
	tests/lab/run

lab-long:
	LAB_LONG=1 tests/lab/run

# Made again only when pyproject.toml has changed.
$(VENV)/.ready-%: pyproject.toml $(VENV)/bin/python
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9))' || \
	  { echo '$(PYTHON) is missing or older than 3.9: make PYTHON=/path/to/a/newer/python3'; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo '$(PYTHON) cannot make a virtual environment: install python3-venv, or'; \
	    echo 'choose another interpreter with make PYTHON=/path/to/python3'; exit 1; }

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
