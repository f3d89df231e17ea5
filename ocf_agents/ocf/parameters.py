# SPDX-License-Identifier: Apache-2.0
"""Typed parameters: declared once, parsed everywhere in the same way, shown in the metadata.

A declaration is `Parameter("timeout", Duration, "10s", shortdesc="...")`. An empty value counts as
not given, so that every optional parameter accepts it. Texts come from `OCF_RESKEY_<name>`.
"""

from __future__ import annotations

from .errors import BadParameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Value = Any  # what `Type.read` gives; each type says what

PREFIX = "OCF_RESKEY_"
HIGHEST_PORT = 65535
MOST_DIGITS = 12

# Any case, as users write them; ocf.py of resource-agents takes "True" for false (case 107).
TRUE_WORDS = ("true", "yes", "on", "y", "1")
FALSE_WORDS = ("false", "no", "off", "n", "0")

# Pacemaker takes whatever begins like one of its units; only whole words are taken here, so that a
# typing error is an error. What both accept means the same to both.
SECONDS_PER_UNIT = {
    "": 1.0,
    "us": 1e-6,
    "usec": 1e-6,
    "ms": 1e-3,
    "msec": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hours": 3600.0,
}


class Type:
    """How a parameter's text becomes a value. `content` is its type in OCF metadata."""

    content = "string"

    def read(self, text: str, parameter: Parameter) -> Value:
        """The value of a text that is not empty; ValueError when it is none of this type."""
        raise NotImplementedError

    def expected(self, parameter: Parameter) -> str:
        """What to give, continuing "give ..."."""
        raise NotImplementedError


class _String(Type):
    """Any text, as it is."""

    def read(self, text: str, parameter: Parameter) -> str:
        if "\0" in text:
            raise ValueError(text)
        return text

    def expected(self, parameter: Parameter) -> str:
        return "a text"


class _Integer(Type):
    """A decimal number, with a sign if need be."""

    content = "integer"

    def read(self, text: str, parameter: Parameter) -> int:
        number = int(_decimal(text.strip()))
        _check_range(number, parameter)
        return number

    def expected(self, parameter: Parameter) -> str:
        return "a whole number" + _range_text(parameter, "")


class _Port(Type):
    """A TCP port, 1 to 65535 (case 61)."""

    content = "integer"

    def read(self, text: str, parameter: Parameter) -> int:
        number = int(_decimal(text.strip()))
        if not 1 <= number <= HIGHEST_PORT:
            raise ValueError(text)
        return number

    def expected(self, parameter: Parameter) -> str:
        return f"a port number from 1 to {HIGHEST_PORT}"


class _Boolean(Type):
    """yes/no, true/false, on/off, y/n, 1/0 in any case; another word is an error, never false."""

    content = "boolean"

    def read(self, text: str, parameter: Parameter) -> bool:
        word = text.strip().lower()
        if word not in TRUE_WORDS and word not in FALSE_WORDS:
            raise ValueError(text)
        return word in TRUE_WORDS

    def expected(self, parameter: Parameter) -> str:
        return "true or false"


class _Select(Type):
    """One of the declared choices, exactly."""

    content = "select"

    def read(self, text: str, parameter: Parameter) -> str:
        word = text.strip()
        if word not in parameter.choices:
            raise ValueError(text)
        return word

    def expected(self, parameter: Parameter) -> str:
        return "one of " + ", ".join(parameter.choices)


class _Duration(Type):
    """Seconds as a float. Read as Pacemaker reads its own: `20`, `20s`, `20000ms`, `1m`, `1h`.

    As there, a fraction is dropped: `2.5` is two seconds, use `2500ms` (case 96).
    """

    def read(self, text: str, parameter: Parameter) -> float:
        text = text.strip()
        digits = len(text) - len(text.lstrip("0123456789."))
        whole = _decimal(text[:digits].partition(".")[0])
        unit = text[digits:].strip().lower()
        if unit not in SECONDS_PER_UNIT:
            raise ValueError(text)
        seconds = int(whole) * SECONDS_PER_UNIT[unit]
        _check_range(seconds, parameter)
        return seconds

    def expected(self, parameter: Parameter) -> str:
        return "a time such as 20, 20s, 20000ms or 1m" + _range_text(parameter, "s")


class _Path(Type):
    """An absolute path."""

    def read(self, text: str, parameter: Parameter) -> str:
        path = text.strip()
        if not path.startswith("/") or "\0" in path or "\n" in path:
            raise ValueError(text)
        return path

    def expected(self, parameter: Parameter) -> str:
        return "an absolute path"


String = _String()
Integer = _Integer()
Port = _Port()
Boolean = _Boolean()
Select = _Select()
Duration = _Duration()
Path = _Path()


def _decimal(text: str) -> str:
    """The text if it is a plain decimal number: int() alone takes `1_000` and other scripts' digits."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > MOST_DIGITS:
        raise ValueError(text)
    return text


def _check_range(number: float, parameter: Parameter) -> None:
    if parameter.minimum is not None and number < parameter.minimum:
        raise ValueError(number)
    if parameter.maximum is not None and number > parameter.maximum:
        raise ValueError(number)


def _range_text(parameter: Parameter, unit: str) -> str:
    low, high = parameter.minimum, parameter.maximum
    if low is not None and high is not None:
        return f" from {low:g}{unit} to {high:g}{unit}"
    if low is not None:
        return f", at least {low:g}{unit}"
    return "" if high is None else f", at most {high:g}{unit}"


class Parameter:
    """The declaration of one parameter.

    `default` is written as a user would write it (a bool or a number is taken too); None: the value
    of a parameter that is not given is None. `minimum` and `maximum` hold for integers and for
    durations (seconds). `reloadable`: a change needs no restart. `unique_group`: parameters that
    together identify an instance. `private`: the value appears in no message. `replaced_by`: the
    name of the parameter that a deprecated one gave its meaning to.
    """

    __slots__ = (
        "choices",
        "default",
        "deprecated",
        "longdesc",
        "maximum",
        "minimum",
        "name",
        "private",
        "reloadable",
        "replaced_by",
        "required",
        "shortdesc",
        "type",
        "unique_group",
    )

    def __init__(
        self,
        name: str,
        type: Type,
        default: str | bool | int | float | None = None,
        shortdesc: str = "",
        longdesc: str = "",
        *,
        required: bool = False,
        reloadable: bool = False,
        unique_group: str | None = None,
        choices: Sequence[str] = (),
        minimum: float | None = None,
        maximum: float | None = None,
        private: bool = False,
        deprecated: bool = False,
        replaced_by: str | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.default = _default_text(default)
        self.shortdesc = shortdesc
        self.longdesc = longdesc
        self.required = required
        self.reloadable = reloadable
        self.unique_group = unique_group
        self.choices = tuple(choices)
        self.minimum = minimum
        self.maximum = maximum
        self.private = private
        self.deprecated = deprecated or replaced_by is not None
        self.replaced_by = replaced_by

    def parse(self, text: str) -> Value:
        """The value of `text`. Raises BadParameter."""
        try:
            return self.type.read(text, self)
        except ValueError:
            raise BadParameter(self.name, text, self.type.expected(self), private=self.private) from None

    def default_value(self) -> Value:
        """The value when the parameter is not given: None without a default."""
        return None if self.default is None or self.default == "" else self.parse(self.default)


def _default_text(default: str | bool | int | float | None) -> str | None:
    if isinstance(default, bool):
        return "true" if default else "false"
    return None if default is None else str(default)


class Values:
    """The values of an action's parameters, parsed when asked for.

    `values["name"]` raises BadParameter on a bad text; `values.lenient("name")` gives the default
    instead and notes the error in `faults`: what stop and monitor use, because bad configuration must
    neither fail a stop nor make it lie (cases 30, 32).
    """

    __slots__ = ("_by_name", "_environ", "faults")

    def __init__(self, parameters: Iterable[Parameter], environ: Mapping[str, str]) -> None:
        self._by_name = {parameter.name: parameter for parameter in parameters}
        self._environ = environ
        self.faults: list[BadParameter] = []

    def __getitem__(self, name: str) -> Value:
        parameter = self._by_name[name]
        text = self._text(parameter)
        return parameter.default_value() if text is None else parameter.parse(text)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def lenient(self, name: str) -> Value:
        """The value, or the default when the text is bad; the error is kept in `faults`."""
        try:
            return self[name]
        except BadParameter as fault:
            if all(known.name != fault.name for known in self.faults):
                self.faults.append(fault)
            return self._by_name[name].default_value()

    def given(self, name: str) -> bool:
        """True when the user gave it a value, by this name or by a deprecated one."""
        return self._text(self._by_name[name]) is not None

    def check(self) -> None:
        """Raises the first BadParameter: bad, required and missing, or an old name beside the new one."""
        for name, parameter in self._by_name.items():
            self[name]
            if parameter.required and not self.given(name):
                raise BadParameter(name, None, parameter.type.expected(parameter))
            if parameter.replaced_by and self._own_text(name) and self._own_text(parameter.replaced_by):
                raise BadParameter(
                    name, self._own_text(name), f"{parameter.replaced_by} only", private=parameter.private
                )

    def deprecated(self) -> list[Parameter]:
        """The deprecated parameters that the user still gives."""
        return [p for p in self._by_name.values() if p.deprecated and self._own_text(p.name)]

    def _text(self, parameter: Parameter) -> str | None:
        text = self._own_text(parameter.name)
        if text is not None:
            return text
        for old in self._by_name.values():
            if old.replaced_by == parameter.name:
                return self._own_text(old.name)
        return None

    def _own_text(self, name: str) -> str | None:
        return self._environ.get(PREFIX + name) or None
