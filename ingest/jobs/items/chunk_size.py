"""The chunk size of a workspace, from its settings."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from ingest.chunking.types import LEAST_TOKENS, MAX_TOKENS
from kebab.identity.models import Workspace
from kebab.people.workspace_settings.registry import Preference, integer_between, preference

#: Name of the setting: the most tokens of a chunk, its breadcrumb included.
CHUNK_TOKENS = "chunk_tokens"
CHUNK_SIZE = Preference(
    name=CHUNK_TOKENS,
    default=MAX_TOKENS,
    validate=integer_between(LEAST_TOKENS, MAX_TOKENS),
    label=_("Chunk size"),
    about=format_lazy(
        _("Tokens, including headings: {least} to {most}. All documents are split and indexed again."),
        least=LEAST_TOKENS,
        most=MAX_TOKENS,
    ),
)


def chunk_tokens_of(workspace: Workspace) -> int:
    """Return the most tokens a chunk of the workspace may have, from LEAST_TOKENS to MAX_TOKENS."""
    tokens: int = preference(workspace, CHUNK_TOKENS)
    return min(max(tokens, LEAST_TOKENS), MAX_TOKENS)
