"""Extensions that a test registers."""

from dataclasses import replace
from typing import Any

import pytest

from kebab import contributions
from kebab.extension import Extension


def set_contributions(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    """Replace what the apps contribute to some fields of `Extension`; the other fields stay."""
    others = tuple(replace(each, **dict.fromkeys(fields, ())) for each in contributions.extensions())
    patched = (*others, Extension(**fields))
    monkeypatch.setattr(contributions, "extensions", lambda: patched)
