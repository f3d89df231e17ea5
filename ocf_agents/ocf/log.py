# SPDX-License-Identifier: Apache-2.0
"""The cluster's log, as the environment says: HA_LOGFILE, HA_LOGFACILITY (or their lower-case names).

Without either, warnings and errors go to standard error, which Pacemaker puts into its own log, and
everything if it is a terminal. Writing never fails, never waits, and never follows a link; the file
and the socket are opened when there is something to say (case 108).
"""

from __future__ import annotations

import os
import time

from .lines import LOG_BYTES, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TAG_BYTES = 200
DEV_LOG = "/dev/log"
FACILITIES = {
    "kern": 0,
    "user": 1,
    "mail": 2,
    "daemon": 3,
    "auth": 4,
    "syslog": 5,
    "lpr": 6,
    "news": 7,
    "uucp": 8,
    "cron": 9,
    "authpriv": 10,
    "ftp": 11,
    "local0": 16,
    "local1": 17,
    "local2": 18,
    "local3": 19,
    "local4": 20,
    "local5": 21,
    "local6": 22,
    "local7": 23,
}
SEVERITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3}


class Log:
    """One line per call, literal and bounded. `tag` names the agent and its resource."""

    __slots__ = ("_debugs", "_facility", "_path", "_socket_path", "_tag")

    def __init__(self, environ: Mapping[str, str], tag: str, socket_path: str = DEV_LOG) -> None:
        self._tag = tag
        self._path = environ.get("HA_LOGFILE") or environ.get("HA_logfile") or ""
        facility = environ.get("HA_LOGFACILITY") or environ.get("HA_logfacility") or "none"
        self._facility = FACILITIES.get(facility.lower())
        self._debugs = environ.get("HA_debug", "0").strip() not in ("", "0")
        self._socket_path = socket_path

    def debug(self, text: str) -> None:
        """Written only when HA_debug is 1 or more."""
        if self._debugs:
            self._write("DEBUG", text)

    def info(self, text: str) -> None:
        """What happened, as it should."""
        self._write("INFO", text)

    def warning(self, text: str) -> None:
        """What an operator should know, though the action goes on."""
        self._write("WARNING", text)

    def error(self, text: str, *, is_on_stderr: bool = False) -> None:
        """Why an action failed. `is_on_stderr`: standard error is told in another way."""
        self._write("ERROR", text, is_on_stderr)

    def _write(self, severity: str, text: str, is_on_stderr: bool = False) -> None:
        line = one_line(f"{severity}: {text}", LOG_BYTES)
        prefix = one_line(self._tag, TAG_BYTES) + b"[%d]" % os.getpid()
        written = self._to_file(prefix, line)
        written = self._to_syslog(SEVERITIES[severity], prefix, line) or written
        if not written and not is_on_stderr:
            self._to_stderr(severity, prefix, line)

    def _to_file(self, prefix: bytes, line: bytes) -> bool:
        if not self._path.startswith("/"):
            return False
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        stamp = time.strftime("%Y/%m/%d_%H:%M:%S").encode()
        try:
            descriptor = os.open(self._path, flags, 0o640)
        except (OSError, ValueError):
            return False
        try:
            os.write(descriptor, b"%s:\t%s %s\n" % (prefix, stamp, line))
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True

    def _to_syslog(self, severity: int, prefix: bytes, line: bytes) -> bool:
        if self._facility is None:
            return False
        # The C module alone: `syslog` waits when the log daemon hangs, `socket` costs milliseconds.
        import _socket

        stamp = time.strftime("%b %e %H:%M:%S").encode()
        message = b"<%d>%s %s: %s" % (self._facility * 8 + severity, stamp, prefix, line)
        try:
            sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC)
        except OSError:
            return False
        try:
            sock.setblocking(False)
            sock.connect(self._socket_path)
            sock.send(message)
        except (OSError, ValueError):
            return False
        finally:
            sock.close()
        return True

    def _to_stderr(self, severity: str, prefix: bytes, line: bytes) -> None:
        try:
            if severity in ("WARNING", "ERROR") or os.isatty(2):
                os.write(2, b"%s: %s\n" % (prefix, line))
        except OSError:
            pass
