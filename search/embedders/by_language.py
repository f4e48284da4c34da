"""The local model of a workspace on the embedder `default`, chosen by the languages of its documents."""

from collections.abc import Mapping
from typing import Final

from kebab.identity.models import Workspace
from search.embedders.bert.model import ENGLISH_MODEL, MULTILINGUAL_MODEL
from search.embedders.bert.wheel import ENGLISH_WHEEL, MULTILINGUAL_WHEEL, Wheel
from search.embedders.spec import ENGLISH, MULTILINGUAL
from search.vectors.spaces import language_share, live_space

#: Kinds of the local models by their published names.
LOCAL_KINDS: Final[Mapping[str, str]] = {ENGLISH_MODEL: ENGLISH, MULTILINGUAL_MODEL: MULTILINGUAL}
#: Share of documents in other languages from which on a workspace gets the multilingual model.
MANY_OTHERS: Final = 0.05
#: Share below which a workspace returns to the English model.
FEW_OTHERS: Final = 0.01

_WHEELS: Final[Mapping[str, Wheel]] = {ENGLISH: ENGLISH_WHEEL, MULTILINGUAL: MULTILINGUAL_WHEEL}


def installed_kinds() -> tuple[str, ...]:
    """Return the kinds of local models whose wheels are installed."""
    return tuple(kind for kind, wheel in _WHEELS.items() if wheel.is_installed)


def has_choice() -> bool:
    """Return whether both models are installed."""
    return len(installed_kinds()) == len(_WHEELS)


def model_for(workspace: Workspace) -> str:
    """Return the kind of local model that suits the languages of the workspace's documents.

    Between the two limits, and without a document of a known language, it stays the present one. Where one
    model is installed it is that one, without any `english`.
    """
    if not has_choice():
        return next(iter(installed_kinds()), ENGLISH)
    live, share = live_space(workspace), english_share(workspace)
    present = ENGLISH if live is None else LOCAL_KINDS.get(live.model, ENGLISH)
    if share is None:
        return present
    limit = FEW_OTHERS if present == MULTILINGUAL else MANY_OTHERS
    return MULTILINGUAL if 1 - share >= limit else ENGLISH


def english_share(workspace: Workspace) -> float | None:
    """Return the share of the workspace's documents in English; None without one of a known language."""
    return language_share(workspace.pk, lambda lang: lang == "en")
