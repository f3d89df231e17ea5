# SPDX-License-Identifier: Apache-2.0
"""The meta-data: its form, what it says, and how it is got. Nothing here starts a resource."""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ocf_agents.testing.conformance.document import (
    Action,
    Document,
    NoDocument,
    Parameter,
    seconds,
    structure,
)
from ocf_agents.testing.conformance.rule import Failed, Group, NotApplicable, expect, one_line, said
from ocf_agents.testing.conformance.runner import Ran
from ocf_agents.testing.conformance.subject import META_DATA, META_DATA_SECONDS, Subject

GROUP = Group("metadata", is_harmless=True)
MANDATORY = ("start", "stop", "monitor", "meta-data")
ONLY_1_1_ATTRIBUTES = ("unique-group", "reloadable")
ROLES_1_1 = ("Started", "Stopped", "Promoted", "Unpromoted")
ROLES_1_0 = (*ROLES_1_1, "Master", "Slave")
BOOLEAN_WORDS = ("true", "false", "yes", "no", "on", "off", "y", "n", "1", "0")
PLACEHOLDER = re.compile(r"%[sd](?!\w)|%\(\w+\)[sd]|(?<!\$)\{\w*\}|\$\{?OCF_RESKEY_\w+\}?")
TOOLS = """
    sh bash dash ksh env cat basename dirname uname hostname id sed awk gawk mawk grep egrep fgrep
    tr cut head tail sort uniq wc od md5sum date expr test [ printf echo getopt tty which readlink
    realpath true false xargs seq
""".split()  # noqa: SIM905 (words)
"""What a shell's agent cannot do without."""
INNOCENT = re.compile(r"/dev/|/proc/self/|.*/__pycache__/")
"""No real files, and what an interpreter keeps for itself. (What is gone afterwards is a here-document.)"""
QUICK_SECONDS = 5.0
SHORTEST_SECONDS = 1.0
SENSIBLE_SECONDS = 10.0
LOCALES: tuple[dict[str, str | None], ...] = (
    {"LC_ALL": "C"},
    {"LC_ALL": "POSIX"},
    {"LC_ALL": None, "LANG": "C.UTF-8"},
    {"LC_ALL": None, "LANG": "de_DE.UTF-8", "LC_MESSAGES": "tr_TR.UTF-8"},
    {"LC_ALL": "xx_XX.no-such"},
)


def expect_same(ran: Ran, subject: Subject, what: str) -> None:
    """Raise Failed unless this run gave what an ordinary one gives."""
    expect(ran, f"meta-data {what}")
    if ran.stdout != subject.modern.stdout:
        raise Failed(f"meta-data {what} is another: {difference(subject.modern.stdout, ran.stdout)}")


def working(subject: Subject) -> None:
    """Raise NotApplicable if meta-data gives no document at all: other rules say so."""
    if subject.modern.code != 0:
        raise NotApplicable("meta-data fails")
    subject.document  # noqa: B018 (raises NotApplicable)


def difference(one: str, other: str) -> str:
    """The first line that differs."""
    ours, theirs = one.splitlines(), other.splitlines()
    for a, b in zip(ours, theirs):
        if a != b:
            return one_line(f"{b.strip()[:120]!r}; expected: {a.strip()[:120]!r}")
    return f"{len(theirs)} lines; expected: {len(ours)}"


def parameters_of(subject: Subject) -> tuple[Parameter, ...]:
    if not subject.document.parameters:
        raise NotApplicable("it has no parameters")
    return subject.document.parameters


def complain(faults: list[str]) -> None:
    """Raise Failed with the first fault, and how many there are."""
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise Failed(one_line(faults[0]) + more)


# Its form


@GROUP.rule("success", "meta-data returns 0", "OCF 1.1, Resource Agent actions; ocf-tester")
def check_success(subject: Subject) -> None:
    expect(subject.modern, "meta-data")


@GROUP.rule(
    "well-formed",
    "What it prints is one well-formed XML document in UTF-8, and nothing else",
    "OCF 1.1, RA meta data; ocf-tester; case 91",
)
def check_well_formed(subject: Subject) -> None:
    for ran in (subject.modern, subject.old):
        try:
            ran.stdout.encode("utf-8")
        except UnicodeEncodeError:
            raise Failed("its text is not UTF-8") from None
        try:
            Document(ran.stdout)
        except NoDocument as error:
            raise Failed(str(error)) from None


@GROUP.rule(
    "schema",
    "It is valid for its own OCF version, whether the caller speaks 1.1 or says nothing",
    "OCF 1.1, ra-api.rng; for 1.0 the DTD and RNG of resource-agents; ocf-tester; cases 88 and 89",
)
def check_schema(subject: Subject) -> None:
    subject.document  # noqa: B018 (raises NotApplicable)
    complain([fault for ran in (subject.modern, subject.old) for fault in faults_of(ran)])


def faults_of(ran: Ran) -> list[str]:
    try:
        return list(structure(Document(ran.stdout).root))
    except NoDocument:
        return []  # well-formed says so


@GROUP.rule(
    "version",
    "<version> is the version of the standard: 1.0 or 1.1",
    "OCF 1.1, API Version Numbers; pcs refuses all others, Pacemaker takes them for 1.1",
)
def check_version(subject: Subject) -> None:
    if subject.document.root.find("version") is None:
        raise NotApplicable("it has no <version>")
    if subject.document.version not in ("1.0", "1.1"):
        raise Failed(f"<version> is {subject.document.version!r}; expected: 1.0 or 1.1")


@GROUP.rule(
    "dialect",
    "What OCF 1.1 brought is only used under <version>1.1</version>",
    "OCF 1.1; Pacemaker calls reload-agent from 1.1 on only",
)
def check_dialect(subject: Subject) -> None:
    if subject.document.is_1_1:
        raise NotApplicable("it is of OCF 1.1")
    if subject.advertises("reload-agent"):
        raise Failed(
            f"<version> is {subject.document.version}, and reload-agent is advertised; expected: 1.1"
        )


@GROUP.rule("ascii", "It is pure ASCII", "developer's guide: tools print it in any locale", strict=True)
def check_ascii(subject: Subject) -> None:
    bad = next((character for character in subject.modern.stdout if not character.isascii()), None)
    if bad is not None:
        raise Failed(f"it has {bad!a} in it; expected: ASCII, or a character reference")


# What it says


@GROUP.rule(
    "name", "Its name is that of the file", "OCF 1.1, Paths: the file name equals the resource type name"
)
def check_name(subject: Subject) -> None:
    if subject.document.name != subject.path.name:
        raise Failed(f"it calls the agent {subject.document.name!r}; expected: {subject.path.name!r}")


@GROUP.rule(
    "descriptions", "The agent and each parameter have descriptions that say something", "developer's guide"
)
def check_descriptions(subject: Subject) -> None:
    complain(
        [
            f"{where}: <{tag}> is empty"
            for where, tag, text in descriptions(subject, ("longdesc", "shortdesc"))
            if not text
        ]
    )


@GROUP.rule(
    "placeholders",
    "No description and no default holds a placeholder that was left: %s, {}, {name}, $OCF_RESKEY_NAME",
    "OCF 1.1, RA meta data: people read it",
    strict=True,
)
def check_placeholders(subject: Subject) -> None:
    texts = [
        (f"{where}: <{tag}>", text) for where, tag, text in descriptions(subject, ("longdesc", "shortdesc"))
    ]
    texts += [
        (f"parameter {one.name}: its default", one.default or "") for one in subject.document.parameters
    ]
    complain([f"{where} holds {found[0]!r}" for where, text in texts if (found := PLACEHOLDER.search(text))])


@GROUP.rule(
    "shortdesc-style", "Short descriptions are one line", "developer's guide; tools list them", strict=True
)
def check_shortdesc_style(subject: Subject) -> None:
    complain(
        [
            f"{where}: <{tag}> has several lines"
            for where, tag, text in descriptions(subject, ("shortdesc",))
            if "\n" in text
        ]
    )


def descriptions(subject: Subject, tags: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Whose, which, and what it says."""
    for element in (subject.document.root, *subject.document.root.iterfind("parameters/parameter")):
        where = "the agent" if element.tag == "resource-agent" else f"parameter {element.get('name')}"
        for child in element:
            if child.tag in tags:
                yield where, child.tag, "".join(child.itertext()).strip()


@GROUP.rule(
    "parameter-names",
    "Each parameter is there once, under a name that can be a variable's",
    "OCF 1.1, Instance parameters: POSIX environment names",
)
def check_parameter_names(subject: Subject) -> None:
    names = Counter(parameter.name for parameter in parameters_of(subject))
    faults = [
        f"a parameter is called {name!r}; expected: letters, digits, underscores"
        for name in names
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
    ]
    complain(
        faults + [f"parameter {name} is there {count} times" for name, count in names.items() if count > 1]
    )


@GROUP.rule(
    "parameter-style",
    "Parameters' names are in lower case, words joined by underscores",
    "developer's guide",
    strict=True,
)
def check_parameter_style(subject: Subject) -> None:
    names = [parameter.name for parameter in parameters_of(subject)]
    complain([f"a parameter is called {one!r}" for one in names if not re.fullmatch("[a-z][a-z0-9_]*", one)])


@GROUP.rule(
    "defaults",
    "A default fits the parameter's type",
    "OCF 1.1, RA meta data; tools offer it to people",
)
def check_defaults(subject: Subject) -> None:
    complain([fault for parameter in parameters_of(subject) if (fault := misfit(parameter))])


def misfit(parameter: Parameter) -> str | None:
    default = parameter.default
    if default in (None, ""):
        return None
    assert default is not None
    if parameter.type == "integer" and not re.fullmatch(r"[+-]?\d+", default, re.A):
        return f"parameter {parameter.name}: its default is {default!r}; expected: an integer"
    if parameter.type == "boolean" and default.lower() not in BOOLEAN_WORDS:
        return f"parameter {parameter.name}: its default is {default!r}; expected: true or false"
    if parameter.type == "select" and default not in parameter.options:
        return f"parameter {parameter.name}: its default {default!r} is none of its options"
    return None


@GROUP.rule("optional-defaults", "An optional text has a default", "developer's guide", strict=True)
def check_optional_defaults(subject: Subject) -> None:
    complain(
        [
            f"parameter {parameter.name} is optional and has no default"
            for parameter in parameters_of(subject)
            if parameter.type == "string" and not parameter.is_required and parameter.default is None
        ]
    )


@GROUP.rule(
    "mandatory-actions",
    "start, stop, monitor and meta-data are advertised",
    "OCF 1.1, Resource Agent actions; ocf-tester",
)
def check_mandatory_actions(subject: Subject) -> None:
    missing = [name for name in MANDATORY if not subject.advertises(name)]
    if missing:
        raise Failed(f"not advertised: {', '.join(missing)}")


@GROUP.rule(
    "reloadable",
    "A parameter that is reloadable comes with the action reload-agent",
    "OCF 1.1, RA meta data; Pacemaker 2.1 restarts the resource instead",
)
def check_reloadable(subject: Subject) -> None:
    names = [one.name for one in parameters_of(subject) if one.is_reloadable]
    if not names:
        raise NotApplicable("no parameter is reloadable")
    if not subject.advertises("reload-agent"):
        raise Failed(
            f"parameter {names[0]} is reloadable, and reload-agent is not advertised; expected: both"
        )


@GROUP.rule("validate-all", "validate-all is advertised", "ocf-tester; case 101", strict=True)
def check_validate_all(subject: Subject) -> None:
    if not subject.advertises("validate-all"):
        raise Failed("validate-all is not advertised")


@GROUP.rule(
    "timeouts",
    "Each action has a timeout that Pacemaker can read, of a second at least",
    "OCF 1.1, ra-api.rng; Pacemaker's durations; case 99",
)
def check_timeouts(subject: Subject) -> None:
    complain(
        [
            f"{action.name}: its timeout is {action.timeout!r}; expected: a duration such as 20s"
            for action in subject.document.actions
            if (seconds(action.timeout) or 0.0) < SHORTEST_SECONDS
        ]
    )


@GROUP.rule(
    "timeouts-style",
    "Times have a unit; start, stop and monitor get 10 s at least",
    "developer's guide: minimum timeouts should never be below 10 seconds; case 99",
    strict=True,
)
def check_timeouts_style(subject: Subject) -> None:
    faults = []
    for action in subject.document.actions:
        texts = (action.timeout, action.interval)
        faults += [f"{action.name}: {text!r} has no unit" for text in texts if text.isdigit() and text != "0"]
        short = (seconds(action.timeout) or 0.0) < SENSIBLE_SECONDS
        if action.name in ("start", "stop", "monitor") and short:
            faults.append(f"{action.name}: its timeout is {action.timeout}; expected: 10s or more")
    complain(faults)


@GROUP.rule(
    "intervals",
    "Monitors have intervals that can be read, each another one",
    "Pacemaker: operations of one name and interval are the same operation",
)
def check_intervals(subject: Subject) -> None:
    monitors = [action for action in subject.document.actions if action.name == "monitor"]
    faults = [
        f"{name_of(one)}: its interval is {one.interval!r}; expected: a duration"
        for one in monitors
        if one.interval and seconds(one.interval) is None
    ]
    counts = Counter(seconds(one.interval) for one in monitors if one.interval)
    faults += [
        f"{count} monitors have the interval {value:g}s"
        for value, count in counts.items()
        if count > 1 and value is not None
    ]
    complain(faults)


def name_of(action: Action) -> str:
    return f"{action.name} of depth {action.depth}" if action.depth else action.name


@GROUP.rule(
    "roles",
    "The role of an action is one that exists; under OCF 1.1 it is not called Master or Slave",
    "OCF 1.1; Pacemaker 2.1 calls the old names deprecated",
)
def check_roles(subject: Subject) -> None:
    allowed = ROLES_1_1 if subject.document.is_1_1 else ROLES_1_0
    complain(
        [
            f"{action.name}: its role is {action.role!r}; expected: one of {', '.join(allowed)}"
            for action in subject.document.actions
            if action.role and action.role not in allowed
        ]
    )


@GROUP.rule(
    "deprecated",
    "No names out of use: roles Master and Slave, and unique without unique-group under OCF 1.1",
    "OCF 1.1, ra-api.rng: unique is deprecated; Pacemaker 2.1: roles",
    strict=True,
)
def check_deprecated(subject: Subject) -> None:
    document = subject.document
    faults = [f"role {one.role} of {one.name}" for one in document.actions if one.role in ("Master", "Slave")]
    if document.is_1_1:
        for element in document.root.iterfind("parameters/parameter"):
            if element.get("unique") == "1" and "unique-group" not in element.attrib:
                faults.append(f"unique of parameter {element.get('name')}; expected: unique-group")
    complain(faults)


# How it is got


@GROUP.rule("repeatable", "It is the same twice", "Pacemaker keeps it: one answer for all")
def check_repeatable(subject: Subject) -> None:
    working(subject)
    expect_same(subject.meta_data(), subject, "the second time")


@GROUP.rule(
    "parameter-free",
    "It does not depend on the resource's parameters",
    "Pacemaker asks without parameters and keeps the answer for all resources of the type",
    strict=True,
)
def check_parameter_free(subject: Subject) -> None:
    working(subject)
    given = {parameter.name: "sample" for parameter in parameters_of(subject)} | dict(subject.parameters)
    environ = subject.environ(META_DATA, parameters=given, timeout=META_DATA_SECONDS)
    expect_same(subject.meta_data(environ=environ), subject, "with parameters")


@GROUP.rule(
    "bare",
    "It needs no variable but OCF_ROOT: no PATH, no HOME, no HA_RSCTMP, no resource",
    "tools and builds of manual pages call it so; case 95",
)
def check_bare(subject: Subject) -> None:
    working(subject)
    root = subject.environ(META_DATA)["OCF_ROOT"]
    ran = subject.meta_data(environ={"OCF_ROOT": root})
    expect(ran, "meta-data under `env -i OCF_ROOT=...`")
    expect_document(ran, "under `env -i OCF_ROOT=...`")


def expect_document(ran: Ran, what: str) -> None:
    try:
        Document(ran.stdout)
    except NoDocument as error:
        raise Failed(f"meta-data {what}: {error}") from None


@GROUP.rule("empty", "It needs no variable at all", "a shell of an author; case 95", strict=True)
def check_empty(subject: Subject) -> None:
    working(subject)
    ran = subject.meta_data(environ={})
    expect(ran, "meta-data under `env -i`")
    expect_document(ran, "under `env -i`")


@GROUP.rule(
    "locale",
    "It is the same in every locale, also in one that does not exist",
    "Pacemaker sets LC_ALL=C, a shell does not; case 92",
)
def check_locale(subject: Subject) -> None:
    working(subject)
    for changes in LOCALES:
        words = " ".join(f"{name}={value}" for name, value in changes.items() if value)
        expect_same(subject.meta_data(changes), subject, f"under {words}")


@GROUP.rule(
    "output-format",
    "OCF_OUTPUT_FORMAT changes nothing in it",
    "Pacemaker 2.1 sets it to xml; without it, text is meant",
)
def check_output_format(subject: Subject) -> None:
    working(subject)
    for value in ("text", None):
        expect_same(
            subject.meta_data({"OCF_OUTPUT_FORMAT": value}), subject, f"under OCF_OUTPUT_FORMAT={value or ''}"
        )


@GROUP.rule(
    "log",
    "A log that cannot be written and a directory that is missing do not matter to it",
    "case 108; it is run on hosts that are no part of a cluster",
)
def check_log(subject: Subject) -> None:
    working(subject)
    nowhere = str(subject.places.root / "missing" / "file")
    changes: dict[str, str | None] = {
        "HA_LOGFILE": nowhere,
        "HA_DEBUGLOG": nowhere,
        "HA_RSCTMP": str(Path(nowhere).parent),
    }
    ran = subject.meta_data(changes)
    expect(ran, "meta-data with no place for a log")
    expect_document(ran, "with no place for a log")


@GROUP.rule(
    "no-binaries",
    "It does not need the programs that the resource needs",
    "ocf-tester: OCF_TESTER_FAIL_HAVE_BINARY, which resource-agents' have_binary obeys",
)
def check_no_binaries(subject: Subject) -> None:
    working(subject)
    expect(subject.meta_data({"OCF_TESTER_FAIL_HAVE_BINARY": "1"}), "meta-data with no program installed")


@GROUP.rule("as-nobody", "nobody gets it", "ocf-tester: as uid nobody")
def check_as_nobody(subject: Subject) -> None:
    check_as(subject, "nobody")


@GROUP.rule("as-hacluster", "The cluster's own user gets it", "crm_resource and pcs run as hacluster")
def check_as_hacluster(subject: Subject) -> None:
    check_as(subject, "hacluster")


def check_as(subject: Subject, user: str) -> None:
    working(subject)
    if os.geteuid() != 0:
        raise NotApplicable("only root can become another user")
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        raise NotApplicable(f"there is no user {user} here") from None
    closed = closed_way(subject)
    if closed is not None:
        raise NotApplicable(f"{closed} is closed to others")
    # A log of root's that another user may not write to is the rule `log`, not this one.
    changes: dict[str, str | None] = {"HA_LOGFILE": None, "HA_DEBUGLOG": None}
    ran = subject.meta_data(changes, user=(account.pw_uid, account.pw_gid))
    expect(ran, f"meta-data as {user}")
    expect_document(ran, f"as {user}")


def closed_way(subject: Subject) -> Path | None:
    """A directory on the way to the agent or its interpreter that others may not enter, or None."""
    places = [subject.path.resolve()]
    with subject.path.open("rb") as file:
        first = file.readline()
    if first.startswith(b"#!/"):
        interpreter = Path(os.fsdecode(first[2:].split()[0]))
        places += [interpreter, interpreter.resolve()]
    ways = [parent for place in places for parent in reversed(place.parents) if parent.exists()]
    return next((way for way in ways if not way.stat().st_mode & stat.S_IXOTH), None)


@GROUP.rule("quiet", "Nothing is on stderr", "Pacemaker writes that into its log, again and again")
def check_quiet(subject: Subject) -> None:
    working(subject)
    if subject.modern.stderr.strip():
        raise Failed(f"meta-data says on stderr:{said(subject.modern)}")


@GROUP.rule(
    "side-effects",
    "It leaves no file and no process",
    "tools call it on hosts where the resource never runs; case 109",
)
def check_side_effects(subject: Subject) -> None:
    working(subject)
    before = subject.places.files()
    processes = subject.processes()
    ran = subject.meta_data()
    changed = sorted(path for path, _, _ in subject.places.files() - before)
    if changed:
        name = os.path.relpath(changed[0], subject.places.root)
        raise Failed(f"meta-data wrote {name}; expected: no file")
    left = subject.settle(processes, 1.0)
    if left or ran.is_open:
        raise Failed(f"meta-data left {left[0] if left else 'its outputs open'}; expected: no process")


def traced(subject: Subject, trace: str) -> Ran:
    """meta-data, asked as Pacemaker asks, under the eyes of the tracer."""
    environ = subject.environ(META_DATA, parameters={}, timeout=META_DATA_SECONDS)
    return subject.runner.run([subject.call(META_DATA, environ, trace=trace)], META_DATA_SECONDS)[0]


@GROUP.rule(
    "no-programs",
    "It runs no program, but for a shell's usual tools",
    "tools call it on hosts where nothing is installed, and wait for it; case 109",
    strict=True,
)
def check_no_programs(subject: Subject) -> None:
    working(subject)
    programs = traced(subject, "programs").programs
    if programs is None:
        raise NotApplicable("this system does not allow to see which programs it runs (ptrace)")
    others = [words for words in programs[1:] if words and os.path.basename(words[0]) not in TOOLS]
    if others:
        raise Failed(one_line(f"meta-data ran {' '.join(others[0])[:120]!r}; expected: no program"))


@GROUP.rule(
    "no-deeds",
    "It writes no file, wherever that is, and speaks to nobody over the network",
    "tools call it on hosts where the resource never runs, and wait for it; case 109",
)
def check_no_deeds(subject: Subject) -> None:
    working(subject)
    deeds = traced(subject, "deeds").deeds
    if deeds is None:
        raise NotApplicable("this system does not allow to see what it does (ptrace)")
    for deed in deeds:
        if "peer" in deed:
            raise Failed(f"meta-data spoke to {deed['peer']}; expected: to nobody")
        path = Path(deed["file"])
        if not INNOCENT.match(deed["file"]) and path not in subject.places.logs and path.is_file():
            raise Failed(one_line(f"meta-data wrote {deed['file']}; expected: no file"))


@GROUP.rule("quick", "It is there within 5 s", "Pacemaker and its tools wait for it; developer's guide (5s)")
def check_quick(subject: Subject) -> None:
    working(subject)
    best = (
        min(subject.meta_data().seconds for _ in range(3)) if slow(subject.modern) else subject.modern.seconds
    )
    if best > QUICK_SECONDS:
        raise Failed(f"meta-data took {best:.1f} s at best; expected: {QUICK_SECONDS:g} s at most")


def slow(ran: Ran) -> bool:
    return ran.seconds > QUICK_SECONDS
