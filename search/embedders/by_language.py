"""The local model of a workspace on `default`, chosen by the languages of its documents and searches."""

from collections.abc import Iterable, Mapping
from typing import Final

from kebab.identity.models import Workspace
from search.embedders.bert.model import ENGLISH_MODEL, MULTILINGUAL_MODEL
from search.embedders.bert.wheel import ENGLISH_WHEEL, MULTILINGUAL_WHEEL, Wheel
from search.embedders.query_language import guess_language
from search.embedders.spec import ENGLISH, MULTILINGUAL
from search.models import AskedQuery
from search.vectors.spaces import language_share, live_space

#: Kinds of the local models by their published names.
LOCAL_KINDS: Final[Mapping[str, str]] = {ENGLISH_MODEL: ENGLISH, MULTILINGUAL_MODEL: MULTILINGUAL}
#: Share of documents, or of recent searches, in other languages from which on a workspace gets the
#: multilingual model.
MANY_OTHERS: Final = 0.05
#: Share below which a workspace returns to the English model.
FEW_OTHERS: Final = 0.01
# The newest searches that are looked at, and those in other languages that make a share.
_SEARCHES = 500
LEAST_SEARCHES: Final = 3

_WHEELS: Final[Mapping[str, Wheel]] = {ENGLISH: ENGLISH_WHEEL, MULTILINGUAL: MULTILINGUAL_WHEEL}


def installed_kinds() -> tuple[str, ...]:
    """Return the kinds of local models whose wheels are installed."""
    return tuple(kind for kind, wheel in _WHEELS.items() if wheel.is_installed)


def has_choice() -> bool:
    """Return whether both models are installed."""
    return len(installed_kinds()) == len(_WHEELS)


def model_for(workspace: Workspace, searches: Iterable[str] | None = None) -> str:
    """Return the kind of local model that suits the languages of the workspace's documents and searches.

    `searches` are its latest, None for those of its log. Between the two limits, and without a document of a
    known language, it stays the present one. Where one model is installed it is that one, without any
    `english`.
    """
    if not has_choice():
        return next(iter(installed_kinds()), ENGLISH)
    present, share = _present_model(workspace), english_share(workspace, searches)
    if share is None:
        return present
    limit = FEW_OTHERS if present == MULTILINGUAL else MANY_OTHERS
    return MULTILINGUAL if share <= 1 - limit else ENGLISH


def wants_other_model(workspace: Workspace) -> bool:
    """Return whether the languages of the workspace ask for another local model than its present one."""
    return model_for(workspace) != _present_model(workspace)


def _present_model(workspace: Workspace) -> str:
    live = live_space(workspace)
    return ENGLISH if live is None else LOCAL_KINDS.get(live.model, ENGLISH)


def english_share(workspace: Workspace, searches: Iterable[str] | None = None) -> float | None:
    """Return the share in English of the workspace's documents, or of its searches if that is smaller.

    None without a document of a known language, and without enough searches in others.
    """
    documents = language_share(workspace.pk, lambda lang: lang == "en")
    if searches is None:
        asked = AskedQuery.objects.in_workspace(workspace).order_by("-asked_at")
        searches = asked.values_list("text", flat=True)[:_SEARCHES]
    languages = [lang for text in searches if (lang := guess_language(text, is_certain=True)) is not None]
    english = languages.count("en")
    if len(languages) - english < LEAST_SEARCHES:
        return documents
    return min(english / len(languages), 1.0 if documents is None else documents)
