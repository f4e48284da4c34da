"""How a workspace's documents are cut, as its settings say."""

from ingest.chunking.types import LEAST_TOKENS, MAX_TOKENS
from kebab.people.models import Workspace
from kebab.people.workspace_settings.registry import preference

#: The setting: tokens of a chunk with its breadcrumb, at most.
CHUNK_TOKENS = "chunk_tokens"


def chunk_tokens_of(workspace: Workspace) -> int:
    """Return how many tokens the workspace's chunks may have, from LEAST_TOKENS to MAX_TOKENS."""
    tokens: int = preference(workspace, CHUNK_TOKENS)
    return min(max(tokens, LEAST_TOKENS), MAX_TOKENS)
