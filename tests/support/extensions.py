"""Extensions that a test registers."""

from dataclasses import replace
from typing import Any

import pytest

from kebab import extension
from kebab.extension import Extension


def set_contributions(monkeypatch: pytest.MonkeyPatch, **contributions: Any) -> None:
    """Replace what the apps contribute to some fields of `Extension`; the other fields stay."""
    others = tuple(replace(each, **dict.fromkeys(contributions, ())) for each in extension.extensions())
    patched = (*others, Extension(**contributions))
    monkeypatch.setattr(extension, "extensions", lambda: patched)
