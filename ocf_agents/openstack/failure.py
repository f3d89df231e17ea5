# SPDX-License-Identifier: Apache-2.0
"""What went wrong with a request, in one line that names the URL or the parameter, and no secret."""

from __future__ import annotations

import base64
import html
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

LONGEST = 400
LONGEST_WAIT = 300.0  # a host must not stay as it is for a day because of one header
PERMANENT = (401, 403, 406)
HINTS = {
    401: "check the credentials",
    403: "the cloud user needs the role admin",
    404: "check the URL",
    406: "microversion 2.53 (Nova of Pike) or later is needed",
}
UNKNOWN_ISSUER = (2, 18, 19, 20, 21)  # of OpenSSL's codes those that another CA file may heal
# Of keystoneauth and openstacksdk: what is configured cannot be right.
MISTAKES = {
    "ConfigException",
    "MissingRequiredOptions",
    "NoMatchingPlugin",
    "EndpointNotFound",
    "ImportError",
}
# The first that is in the chain speaks. keystoneauth says ConnectTimeout of every timeout.
WORDS = (
    ("SSLError", "TLS failed ({})"),
    ("NewConnectionError", "no connection ({})"),
    ("ConnectTimeoutError", "no connection in time"),
    ("Timeout", "no answer in time"),
    ("ConnectTimeout", "no answer in time"),
    ("ConnectFailure", "the connection broke ({})"),
    ("ConnectionError", "the connection broke ({})"),
    ("UnknownConnectionError", "the connection broke ({})"),
    ("ImportError", "openstacksdk is missing or broken ({})"),
)


STRANGE = (TypeError, AttributeError, LookupError, ValueError, RecursionError)


class Failure(Exception):
    """No usable answer.

    `permanent`: waiting cannot heal it. `retry_after`: seconds, where the API said so. `reached`: the
    request may have reached the API (False: it certainly did not).
    """

    def __init__(
        self, text: str, *, permanent: bool = False, retry_after: float | None = None, reached: bool = False
    ) -> None:
        super().__init__(text)
        self.text, self.permanent, self.retry_after, self.reached = text, permanent, retry_after, reached


SHORT_SECRET = 8
"""Characters below which a secret may be a part of any word."""


class Redactor:
    """Hides secrets in a text, and makes one bounded line of it."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._texts: list[str] = []
        self.hide(*secrets)

    def hide(self, *secrets: str) -> None:
        """Hide these as well, from now on."""
        texts = {text for secret in secrets if secret for text in spellings(secret)}
        self._texts = sorted(texts.union(self._texts), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self._texts:
            text = re.sub(_pattern(secret), "***", text)
        text = re.sub(r"(\w+://)[^/\s]+@", r"\1***@", text)
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def _pattern(secret: str) -> str:
    """A short one hides whole words only: a text with holes in its words would tell it, and little else."""
    pattern = re.escape(secret)
    is_like_a_word = len(secret) < SHORT_SECRET and secret.isascii() and secret.isalnum()
    return rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])" if is_like_a_word else pattern


def spellings(secret: str) -> set[str]:
    """A secret as a peer may send it back: in a URL, in JSON, in a page, in Python's own words."""
    data = secret.encode("utf-8", "surrogateescape")
    found = {
        secret,
        quote(data),
        quote(data, safe=""),
        quote_plus(data),
        html.escape(secret),
        html.escape(secret).replace("&#x27;", "&#39;"),
        html.escape(secret, quote=False),
        repr(secret)[1:-1],
    }
    found |= {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text) for text in found}
    found |= {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    found |= {text.replace("/", "\\/") for text in found}
    return found | {base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()}


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error and all that lie behind it: causes, contexts, and errors carried as arguments."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]


def kinds(error: BaseException) -> set[str]:
    """The class names of the whole chain, with their base classes."""
    return {kind.__name__ for one in chain(error) for kind in type(one).__mro__}


def never_sent(error: BaseException) -> bool:
    """True when no byte of the request has left: no address, no connection, no trust."""
    names = kinds(error)
    return bool(
        names & {"NewConnectionError", "ConnectTimeoutError", "SSLCertVerificationError", "InvalidURL"}
    )


def is_untrusted(error: BaseException) -> bool:
    """True when the peer's certificate is not trusted."""
    return "SSLCertVerificationError" in kinds(error)


def explain(error: BaseException, doing: str, *, sent: bool) -> Failure:
    """A library's exception as a failure; `doing` says what was asked of whom, `sent` whether it was."""
    if isinstance(error, Failure):
        return error
    reached = sent and not never_sent(error)
    status = getattr(error, "http_status", None)
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", None) or {}
    if "InvalidResponse" in kinds(error) and response is not None:
        return Failure(f"{doing}: {no_token(response.status_code, headers)}", reached=reached)
    if isinstance(status, int) and status >= 300:
        text = advise(status, f"{doing}: answered {status}")
        return Failure(
            text, permanent=status in PERMANENT, retry_after=seconds_to_wait(headers), reached=reached
        )
    if is_untrusted(error):
        return Failure(untrusted(error, doing), permanent=True, reached=reached)
    permanent = bool(kinds(error) & MISTAKES)
    return Failure(f"{doing}: {describe(error)}", permanent=permanent, reached=reached)


def no_token(status: int, headers: Mapping[str, str]) -> str:
    """What Keystone answered instead of a token."""
    if 300 <= status < 400:
        return f"answered {status}, sent to {headers.get('Location', 'nowhere')}"
    return f"answered {status}, but the body is no token"


def advise(status: int, text: str) -> str:
    """The text with what to do before it: Pacemaker shows 128 characters, and a URL may fill them."""
    hint = HINTS.get(status)
    return f"{hint}: {text}" if hint else text


def untrusted(error: BaseException, doing: str) -> str:
    """Whose certificate is not trusted, and why; the URL is the failed request's, else that of `doing`."""
    requests = (getattr(one, "request", None) for one in chain(error))
    urls = (getattr(request, "url", None) for request in requests)
    url = str(next(filter(None, urls), doing.rpartition(" ")[2]))
    told = next((one for one in chain(error) if hasattr(one, "verify_message")), None)
    detail = str(getattr(told, "verify_message", "")).rstrip(".")
    certificate = f"the TLS certificate of {url.partition('?')[0]}"
    if getattr(told, "verify_code", 0) in (0, *UNKNOWN_ISSUER):
        return f"set cacert: {certificate} is not trusted ({detail})"
    return f"{detail}: {certificate} is not good"


def describe(error: BaseException) -> str:
    """A library's exception in plain words."""
    names = kinds(error)
    for kind, words in WORDS:
        if kind in names:
            return words.format(innermost(error))
    if isinstance(error, STRANGE):  # the libraries' own code has stumbled over what came
        return f"the answer makes no sense ({type(error).__name__})"
    return f"{type(error).__name__}: {error}"


def innermost(error: BaseException) -> str:
    """What the operating system or the library said first."""
    last = next(
        (one for one in reversed(list(chain(error))) if isinstance(one, OSError) and one.strerror), None
    )
    if last is not None:
        return str(last.strerror)
    deepest = list(chain(error))[-1]
    return str(deepest) or type(deepest).__name__


def seconds_to_wait(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The header Retry-After, a number or a date, in seconds from now; None without one."""
    text = (headers.get("Retry-After") or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:20]), LONGEST_WAIT)
    from email.utils import parsedate_to_datetime

    try:
        then = parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return min(max(0.0, then - (time.time() if now is None else now)), LONGEST_WAIT)
