"""Errors of connectors.

ConnectorError
├── ListingFailed            part of the source could not be listed, so nothing may be deleted
│   ├── RepositoryTooLarge   its copy exceeds the size limit
│   └── SourceAway           its server does not answer any more; the next sync goes on
└── RepositoryBusy           another worker of this node uses the repository; the job is retried later

OSError
└── ContentArchived          a document must be restored from an archive before it can be read
"""

import re
from functools import cache
from typing import Final

from django.utils.translation import gettext


def _(message: str) -> str:
    """Mark a message for translation; Django's own function needs settings, which child processes lack."""
    return message


SYNC_FAILED: Final = _("Sync failed, and nothing was changed: %(error)s")
WRONG_CREDENTIALS: Final = _("%(host)s: wrong user name, password or token%(remark)s.")
NOTHING_THERE: Final = _("%(host)s has nothing at this address%(remark)s. Check it.")
UNEXPECTED_ANSWER: Final = _("%(host)s gives an unexpected answer%(remark)s.")
# Jobs keep messages in English, and pages translate these; the last ones end with an error of `http_client`.
_MESSAGES: Final = (
    SYNC_FAILED,
    WRONG_CREDENTIALS,
    NOTHING_THERE,
    UNEXPECTED_ANSWER,
    _("robots.txt of %(error)s"),
    _("%(host)s can't be found, or is not public; check it, or add its name to KEBAB_PRIVATE_HOSTS."),
    _("%(host)s can't be reached."),
    _("%(host)s did not answer in time."),
    _("%(host)s shows a certificate that can't be trusted, or speaks no TLS."),
)
_PARTS: Final = {"host": r"\S+", "remark": r"(?: \(.*\))?", "error": ".*"}


def translate_message(text: str) -> str:
    """Return the message of a failed job in the reader's language, or as it is without a translation."""
    for message, pattern in _patterns():
        if found := pattern.fullmatch(text):
            parts = found.groupdict()
            if "error" in parts:
                parts["error"] = translate_message(parts["error"])
            return gettext(message) % parts
    return text


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    def compile_message(message: str) -> re.Pattern[str]:
        literals = re.split(r"%\((\w+)\)s", message)
        parts = [re.escape(each) for each in literals]
        parts[1::2] = [f"(?P<{name}>{_PARTS[name]})" for name in literals[1::2]]
        return re.compile("".join(parts), re.DOTALL)

    return tuple((message, compile_message(message)) for message in _MESSAGES)


class ConnectorError(Exception):
    """A source could not be read."""


class ListingFailed(ConnectorError):
    """A part of the source could not be read; files missing from the listing may still exist."""


class RepositoryTooLarge(ListingFailed):
    """The copy of the repository exceeds the size limit."""


class SourceAway(ListingFailed):
    """The source's server can't be reached, or refuses everything; the message names it and the reason."""


class ContentArchived(OSError):
    """The content of a document is in an archive; the message says what to do."""


class RepositoryBusy(ConnectorError):
    """Another worker of this node still uses its copy of the repository."""
