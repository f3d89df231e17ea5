# SPDX-License-Identifier: Apache-2.0
"""For all tests: with OCF_AGENTS_NO_SKIPS=1, as in CI, a test that cannot run here has failed."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

NO_SKIPS = os.environ.get("OCF_AGENTS_NO_SKIPS") == "1"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, None]:
    report = (yield).get_result()  # type: ignore[attr-defined]
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"{item.nodeid} was skipped: {report.longrepr}"


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if NO_SKIPS and report.skipped:
        report.outcome, report.longrepr = "failed", f"{report.nodeid} was skipped: {report.longrepr}"
