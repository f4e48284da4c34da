"""The setting of the sites whose pages may send requests with a token of the workspace."""

import re
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from kebab.http.cross_origin import ALLOWED_ORIGINS
from kebab.people.workspace_settings.registry import Preference

MAX_ORIGINS: Final = 50
_ORIGIN = re.compile(r"https?://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?", re.ASCII)


def clean_origins(value: Any) -> str:
    """Return origins separated by blanks, each once. Raises ValueError, naming the one that is none."""
    origins = list(dict.fromkeys(value.split())) if isinstance(value, str) else [value]
    for origin in origins:
        if not isinstance(origin, str) or (origin != "*" and _ORIGIN.fullmatch(origin) is None):
            raise ValueError(f"{origin!r} is not an origin; write https://docs.example.com, or * for any.")
    if len(origins) > MAX_ORIGINS:
        raise ValueError(f"There are {len(origins)} origins; give {MAX_ORIGINS} at most.")
    return " ".join(origins)


ORIGINS = Preference(
    name=ALLOWED_ORIGINS,
    default="",
    validate=clean_origins,
    label=_("Other sites"),
    about=_("Whose pages may use tokens: https://docs.example.com, separated by blanks. * allows any."),
    section="general",
)
