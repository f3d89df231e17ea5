# SPDX-License-Identifier: Apache-2.0
"""For each rule a broken variant of the good agent: what is replaced in it, and which rules then fail."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

GOOD_AGENT = Path(__file__).with_name("good-agent")
TEXT = GOOD_AGENT.read_text(encoding="utf-8")
PARAMETERS = {"target": "somewhere"}
META = "meta_data() {\n"
MONITOR = "monitor() {\n"
STOP = "stop() {\n"
DEMOTE = "demote() {\n    process || return 7\n"
STARTED = '    log "started"\n'
DAEMON = "    sleep 1000 </dev/null >/dev/null 2>&1 9>&- &\n"
INTERVAL = '"${OCF_RESKEY_CRM_meta_interval:-0}"'


@dataclass(frozen=True)
class Mutant:
    """rule: which fails. changes: (old, new), for the first place only. also: rules that may fail as well.

    name, mode: of the file.
    """

    rule: str
    changes: tuple[tuple[str, str], ...] = ()
    also: tuple[str, ...] = ()
    name: str = GOOD_AGENT.name
    mode: int = 0o755

    @property
    def group(self) -> str:
        return self.rule.partition(".")[0]

    def write(self, directory: Path) -> Path:
        text = TEXT
        for old, new in self.changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        path = directory / self.name
        path.write_text(text, encoding="utf-8")
        path.chmod(self.mode)
        return path


def one(rule: str, old: str, new: str, *also: str) -> Mutant:
    return Mutant(rule, ((old, new),), also)


def without(rule: str, *lines: str) -> Mutant:
    return Mutant(rule, tuple((line, "") for line in lines))


def action(name: str, timeout: str = "20s") -> str:
    return f'<action name="{name}" timeout="{timeout}"/>\n'


def before(rule: str, place: str, line: str, *also: str) -> Mutant:
    """A line more at the beginning of a function."""
    return one(rule, place, f"{place}    {line}\n", *also)


VALIDATE_ALL = tuple(f'<action name="validate-all" timeout="20s" depth="{n}"/>\n' for n in (0, 10))

FILE = (
    Mutant("file.mode", mode=0o700),
    Mutant("file.mode", mode=0o777),
    one("file.interpreter", "#!/bin/sh", "#!/usr/bin/env sh"),
    one("file.interpreter", "#!/bin/sh\n", "#!sh\n"),
    Mutant("file.name", name="good agent", also=("file.name-style",)),
    Mutant("file.name-style", name="Good_Agent"),
    without("file.licence", "# SPDX-License-Identifier: Apache-2.0\n"),
)

METADATA = (
    one("metadata.success", "return 0 # meta-data", "return 1"),
    one("metadata.well-formed", "</resource-agent>", ""),
    one("metadata.well-formed", "</resource-agent>", "</resource-agent>and more"),
    before("metadata.well-formed", META, "echo a word before"),
    one("metadata.schema", 'required="1"', 'required="yes"', "metadata.optional-defaults"),
    one("metadata.schema", 'type="integer"', 'type="number"'),
    one(
        "metadata.schema",
        '<longdesc lang="en">Any number.</longdesc>\n<shortdesc lang="en">A number</shortdesc>',
        '<shortdesc lang="en">A number</shortdesc>\n<longdesc lang="en">Any number.</longdesc>',
    ),
    Mutant(
        "metadata.version",
        (
            ("<version>1.1", "<version>2.0"),
            (' unique-group="pid"', ""),
            (' reloadable="1"', ""),
            (action("reload-agent"), ""),
        ),
    ),
    Mutant(
        "metadata.dialect",
        (("<version>1.1", "<version>1.0"), (' unique-group="pid"', ""), (' reloadable="1"', "")),
    ),
    without("metadata.reloadable", action("reload-agent")),
    one("metadata.ascii", "Any text.", "Any t\u00e9xt."),
    Mutant("metadata.name", name="good-agency"),
    one("metadata.descriptions", ">A number<", "><"),
    one("metadata.shortdesc-style", ">A number<", ">A\nnumber<"),
    one("metadata.parameter-names", 'name="port"', 'name="the-port"', "metadata.parameter-style"),
    one("metadata.parameter-names", 'name="port"', 'name="target"'),
    one("metadata.parameter-style", 'name="port"', 'name="Port"'),
    one("metadata.defaults", 'default="7"', 'default="seven"'),
    one("metadata.defaults", 'default="auto"', 'default="on"'),
    one("metadata.optional-defaults", '<content type="string" default=""/>', '<content type="string"/>'),
    without("metadata.mandatory-actions", action("meta-data", "5s")),
    without("metadata.validate-all", *VALIDATE_ALL),
    one("metadata.timeouts", action("notify"), action("notify", "soon")),
    one("metadata.timeouts", action("notify"), action("notify", "0s")),
    one("metadata.timeouts-style", action("start"), action("start", "20")),
    one("metadata.timeouts-style", action("stop"), action("stop", "5s")),
    one("metadata.intervals", 'interval="9s"', 'interval="10000ms"'),
    one("metadata.intervals", 'interval="9s"', 'interval="often"'),
    one("metadata.roles", 'role="Promoted"', 'role="Master"', "metadata.deprecated"),
    one("metadata.deprecated", ' name="mode"', ' name="mode" unique="1"'),
    one(
        "metadata.repeatable",
        "Any number.",
        "Any number $$.",
        "metadata.parameter-free",
        "metadata.locale",
        "metadata.output-format",
    ),
    one("metadata.parameter-free", "Any number.", "Any number $OCF_RESKEY_port."),
    before("metadata.bare", META, '[ -n "$HA_RSCTMP" ] || exit 1', "metadata.empty"),
    before("metadata.empty", META, '[ -n "$OCF_ROOT" ] || exit 1'),
    one("metadata.locale", "Any number.", "Any number $LC_ALL."),
    one("metadata.output-format", "Any number.", "Any number $OCF_OUTPUT_FORMAT."),
    before("metadata.log", META, '[ -z "$HA_LOGFILE" ] || true >>"$HA_LOGFILE" || exit 1'),
    before("metadata.no-binaries", META, '[ -z "$OCF_TESTER_FAIL_HAVE_BINARY" ] || exit 5'),
    one("metadata.placeholders", "Any number.", "Any %s."),
    one("metadata.placeholders", ">A number<", ">A {kind} of number<"),
    one("metadata.placeholders", 'default="7"', 'default="\\$OCF_RESKEY_port"', "metadata.defaults"),
    before("metadata.no-programs", META, "sleep 0"),
    before("metadata.no-deeds", META, 'echo x >"$0.seen"'),
    before("metadata.quiet", META, "echo a word >&2"),
    before(
        "metadata.side-effects",
        META,
        '[ -z "$HOME" ] || { echo x >"$HOME/left"; } 2>/dev/null',
        "metadata.no-deeds",
    ),
    before("metadata.side-effects", META, "sleep 3 </dev/null >/dev/null 2>&1 &", "metadata.no-programs"),
)

LIFECYCLE = (
    one(
        "lifecycle.monitor-stopped",
        "process || return 7\n    lives",
        f"process || {{ [ {INTERVAL} = 0 ] && return 7; return 1; }}\n    lives",
        "lifecycle.stop-complete",
        "lifecycle.crash-stop",
    ),
    one(
        "lifecycle.probe-stopped",
        "process || return 7\n    lives",
        f"process || {{ [ {INTERVAL} = 0 ] && return 1; return 7; }}\n    lives",
    ),
    one(
        "lifecycle.probe-quiet",
        "process || return 7\n    lives",
        'process || { reason "not running"; return 7; }\n    lives',
    ),
    one("lifecycle.start", "return 0 # started", "return 1", "lifecycle.restart", "lifecycle.crash-stop"),
    before("lifecycle.restart", "start() {\n", '[ -e "$PID_FILE.once" ] && return 1; true >"$PID_FILE.once"'),
    one(
        "lifecycle.start-complete",
        '    echo "$PID" >"$PID_FILE"\n',
        '    (sleep 0.5; echo "$PID" >"$PID_FILE") </dev/null >/dev/null 2>&1 9>&- &\n',
        "lifecycle.restart",
        "lifecycle.stop-stopped",
        "lifecycle.stop-complete",
        "lifecycle.crash-stop",
        "lifecycle.idle-monitor",
    ),
    one("lifecycle.probe-started", "return 0 # runs", f"[ {INTERVAL} != 0 ]"),
    one("lifecycle.start-started", "process && lives && return 0", "process && lives && return 1"),
    one("lifecycle.start-started", "process && lives && return 0", ""),
    before("lifecycle.check-levels", MONITOR, '[ "${OCF_CHECK_LEVEL:-0}" -ge 0 ] 2>/dev/null || return 1'),
    before(
        "lifecycle.check-levels",
        MONITOR,
        '[ "$OCF_CHECK_LEVEL" != 10 ] || return 1',
        "lifecycle.stopped-levels",
    ),
    before("lifecycle.stopped-levels", MONITOR, '[ "$OCF_CHECK_LEVEL" != 10 ] || process || return 1'),
    one(
        "lifecycle.stop",
        "return 0 # stopped",
        '[ -z "$TRIES" ] || return 7; return 0',
        "lifecycle.crash-stop",
    ),
    one("lifecycle.stop-complete", "    if process && lives; then\n", "    if false; then\n"),
    one(
        "lifecycle.stop-stopped",
        "    if process && lives; then\n",
        "    process || return 7\n    if process && lives; then\n",
    ),
    before("lifecycle.log", MONITOR, 'log "monitored"'),
    one("lifecycle.crash", "lives || return 1", "lives || return 0"),
    one("lifecycle.idle-monitor", "lives || return 1", "lives || { start; return 1; }"),
    one("lifecycle.idle-monitor", "lives || return 1", "lives || { start; return 7; }"),
    one("lifecycle.start", "return 0 # started", "return 190", "lifecycle.restart", "lifecycle.crash-stop"),
    one(
        "lifecycle.probe-stopped",
        "process || return 7\n    lives",
        f'process || {{ [ {INTERVAL} = 0 ] && [ -e "$LOCK_FILE" ] && return 190; return 7; }}\n    lives',
    ),
    one(
        "lifecycle.crash-stop",
        "    if process && lives; then\n",
        "    process && { lives || return 1; }\n    if process && lives; then\n",
    ),
)

ACTIONS = (
    one("actions.unknown", "exit 3", "exit 2"),
    one("actions.unknown-idle", "exit 3", "stop\n    exit 3"),
    one("actions.unknown-idle", "exit 3", "sleep 9 </dev/null >/dev/null 2>&1 &\n    exit 3"),
    one("actions.usage", "    usage\n    exit 3", "    exit 3"),
    one("actions.none", "exit 2", "exit 0"),
    one("actions.extra-arguments", 'ACTION="$1"', 'ACTION="$*"'),
    one("actions.implemented", "notify) true", "notify) exit 3"),
    without("actions.advertised", action("notify")),
    without("actions.advertised", action("migrate_to")),
    one("actions.stdout", "return 0 # started", 'echo "<x/>"; return 0'),
)

ROLES = (
    without("roles.pair", action("demote")),
    one("roles.promote", 'touch "$PROMOTED_FILE"', 'touch "$PROMOTED_FILE"; return 1'),
    without("roles.promoted", '    [ -e "$PROMOTED_FILE" ] && return 8\n'),
    one(
        "roles.promote-promoted",
        'touch "$PROMOTED_FILE"',
        '[ -e "$PROMOTED_FILE" ] && return 1; touch "$PROMOTED_FILE"',
    ),
    before("roles.demote", DEMOTE, '[ -e "$PROMOTED_FILE" ] && return 1'),
    before("roles.demote-demoted", DEMOTE, '[ -e "$PROMOTED_FILE" ] || return 1'),
    one("roles.notify", "notify) true", "notify) false"),
    one("roles.reload-agent", "reload-agent) monitor", "reload-agent) stop; start"),
    one("roles.reload", "reload) monitor", "reload) stop"),
    without("roles.migration-pair", action("migrate_from")),
    one("roles.migrate", "migrate_from) start", "migrate_from) true", "roles.migrate-from-stopped"),
    Mutant(
        "roles.migrate-from-stopped",
        (("migrate_to) stop", "migrate_to) true"), ("migrate_from) start", "migrate_from) true")),
    ),
    Mutant(
        "roles.migrate",
        (
            ("migrate_to) stop", "migrate_to) true"),
            ("migrate_from) start", 'migrate_from) rm -f "$PID_FILE"; start'),
        ),
    ),
    one("roles.migrate-to-stopped", "migrate_to) stop", "migrate_to) start"),
)

PARAMETERS_RULES = (
    one(
        "parameters.valid",
        "return 0 # valid",
        "return 1",
        "parameters.booleans",
        "parameters.valid-deep",
    ),
    one(
        "parameters.missing",
        'target is missing"\n        return 6',
        'target is missing"\n        return 1',
        "parameters.valid-deep",
    ),
    one(
        "parameters.missing-start",
        "validate || return $?",
        'validate || [ -z "$OCF_RESKEY_target" ] || return $?',
    ),
    one("parameters.wrong", "*[!0-9]*)", "nothing)", "parameters.valid-deep"),
    one("parameters.booleans", "[Yy]es | YES | ", ""),
    one("parameters.idle-validation", "return 0 # valid", 'true >"$PID_FILE.seen"; return 0'),
    before("parameters.stop-stopped", STOP, "validate || return $?"),
    before("parameters.stop-honest", STOP, "validate || return 0"),
    one("parameters.reason-form", "'%s%s\\n'", "'ERROR: %s%s\\n'"),
    one("parameters.reason-form", '"$1" >&2\n}\n\nlog', '"$1"\n}\n\nlog', "parameters.reason"),
    one("parameters.reason", "printf '%s%s\\n' \"${OCF_EXIT_REASON_PREFIX:-ocf-exit-reason:}\"", "echo"),
    one("parameters.reason-filled", '"the parameter target is missing"', "'the parameter $1 is missing'"),
    one("parameters.reason-filled", "the parameter target is missing", "the parameter %s is missing"),
    before("parameters.valid-deep", "validate() {\n", '[ "$OCF_CHECK_LEVEL" != 10 ] || return 1'),
    before("parameters.valid-deep", "validate() {\n", '[ "$OCF_CHECK_LEVEL" != 10 ] || return 0'),
    one("parameters.reason-prefix", "${OCF_EXIT_REASON_PREFIX:-ocf-exit-reason:}", "ocf-exit-reason:"),
)

TOO_SHORT = '[ "${OCF_RESKEY_CRM_meta_timeout:-20000}" -gt 5000 ] 2>/dev/null || return 1'
ENVIRONMENT = (
    before("environment.timeout-monitor", MONITOR, TOO_SHORT),
    before("environment.timeout-stop", STOP, TOO_SHORT),
    before("environment.bare", MONITOR, '[ -n "$HOME" ] || return 1'),
    one("environment.missing-rsctmp", '[ -d "$DIRECTORY" ] || return 0', '[ -d "$DIRECTORY" ] || return 1'),
    before("environment.no-binaries", MONITOR, '[ -z "$OCF_TESTER_FAIL_HAVE_BINARY" ] || return 1'),
    before("environment.locale", MONITOR, 'case "$LC_ALL" in "" | C) ;; *) return 1 ;; esac'),
    one(
        "environment.log",
        '{ echo "good-agent: $1" >>"$HA_LOGFILE"; } 2>/dev/null || :',
        'echo "good-agent: $1" >>"$HA_LOGFILE" || exit 1',
    ),
    one(
        "environment.clone",
        'ACTION="$1"',
        'ACTION="$1"\ncase "$OCF_RESOURCE_INSTANCE" in *:*) exit 1 ;; esac',
    ),
    one("environment.version", "!= 1 ]", "= 99 ]"),
)

BASE64 = 'printf "user:%s" "$OCF_RESKEY_password" | base64'
PRIVACY = (
    one("privacy.output", STARTED, '    echo "$OCF_RESKEY_password"\n'),
    one("privacy.log", STARTED, '    log "started with $OCF_RESKEY_password"\n'),
    one("privacy.output", STARTED, f"    {BASE64}\n"),
    one(
        "privacy.log",
        STARTED,
        '    log "started with $(printf %s "$OCF_RESKEY_password" | od -An -tx1 | tr -d " \\n")"\n',
    ),
    one("privacy.arguments", STARTED, '    /bin/true "$OCF_RESKEY_password"\n'),
    one("privacy.arguments", STARTED, f'    /bin/true "--header=$({BASE64})"\n'),
    one("privacy.arguments", STARTED, "    sh -c 'sleep 0.2; :' \"$OCF_RESKEY_password\"\n"),
    one("privacy.files", STARTED, f'    {BASE64} >"$PID_FILE.env"\n'),
    one("privacy.files", STARTED, '    echo "$OCF_RESKEY_password" >"$PID_FILE.env"\n'),
)

BELIEVED = 'kill -0 "$PID" 2>/dev/null'
BOTH_FAIL = """\
    true >"$PID_FILE.s$$"
    sleep 0.2
    set -- "$PID_FILE".s*
    sleep 0.2
    rm -f "$PID_FILE.s$$"
    [ $# -lt 2 ] || return 1
    if process"""
ROBUSTNESS = (
    one("robustness.outputs-closed", DAEMON, "    sleep 1000 9>&- &\n"),
    Mutant(
        "robustness.killed-start",
        (
            (DAEMON, DAEMON.replace("sleep", "setsid sleep")),
            ('    echo "$PID" >"$PID_FILE"\n', '    sleep 0.3; echo "$PID" >"$PID_FILE"\n'),
        ),
    ),
    one(
        "robustness.killed-stop",
        'kill "$PID" 2>/dev/null\n',
        'rm -f "$PID_FILE"; sleep 0.3; kill "$PID" 2>/dev/null\n',
    ),
    one(
        "robustness.double-start",
        "    flock 9\n    process && lives && return 0\n",
        "    process && lives && return 0\n    sleep 0.2\n",
    ),
    one(
        "robustness.double-stop",
        '    exec 9>"$LOCK_FILE"\n    flock 9\n    if process',
        BOTH_FAIL,
        "robustness.killed-stop",
        "robustness.frozen-stop",
        "robustness.deaf-stop",
        "robustness.stranger-stop",
    ),
    one(
        "robustness.frozen-stop",
        '-gt 20 ] && kill -9 "$PID"',
        "-gt 20 ] && return 1",
        "robustness.deaf-stop",
    ),
    one(
        "robustness.deaf-stop",
        '-gt 20 ] && kill -9 "$PID"',
        '-gt 20 ] && { kill -CONT "$PID"; sleep 0.1; lives && return 1; }',
    ),
    one("robustness.stranger-monitor", "lives || return 1", BELIEVED + " || return 1"),
    one("robustness.stranger-stop", "process && lives; then", f"process && {BELIEVED}; then"),
    one("robustness.stranger-start", "process && lives && return 0", f"process && {BELIEVED} && return 0"),
    one("robustness.frozen-monitor", "[TZ]*) return 1", "[Z]*) return 1"),
)


def has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def for_root() -> tuple[Mutant, ...]:
    """The mutants of rules that only root can try, here."""
    if os.geteuid() != 0:
        return ()
    users = [name for name in ("nobody", "hacluster") if has_user(name)]
    return (
        *(before(f"metadata.as-{name}", META, f'[ "$(id -un)" != {name} ] || exit 1') for name in users),
        one("environment.no-rsctmp", "${HA_RSCTMP:-/run/resource-agents}", "${HA_RSCTMP:-/proc/nowhere}"),
    )


MUTANTS = (
    *FILE,
    *METADATA,
    *LIFECYCLE,
    *ACTIONS,
    *ROLES,
    *PARAMETERS_RULES,
    *ENVIRONMENT,
    *PRIVACY,
    *ROBUSTNESS,
    *for_root(),
)
FOR_ROOT_ONLY = {"metadata.as-nobody", "metadata.as-hacluster", "environment.no-rsctmp"}
