"""Agreement of the lexical leg with its own scoring expression, run by FTS5 without any shortcut."""

from collections.abc import Sequence

from ingest.cli.bench.figures import Figure
from kebab.people.models import Workspace
from kebab.people.reader import OPERATOR
from search.access.scope import resolve_scope
from search.engine.search import lexical_leg, mirror_reading
from search.mirror.query.lexical import TEXT_WEIGHT
from search.retrieval.query.filters import SearchFilters
from search.settings.search_settings import SearchSettings

_TOP = 10
_UNSHORTENED = """
SELECT c.chunk_id FROM (
    SELECT rowid, bm25(chunks_fts, 0.0, 0.0, ?, ?) AS score FROM chunks_fts WHERE chunks_fts MATCH ?
) f JOIN chunks c ON c.chunk = f.rowid
ORDER BY f.rowid IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?) DESC, f.score, c.chunk_id LIMIT ?
"""


def agreement_figure(workspace: Workspace, queries: Sequence[str]) -> Figure:
    """Return the share of the unshortened top tens that the leg finds too, in [0, 1]."""
    scope = resolve_scope(workspace, SearchFilters(), OPERATOR)
    weights = (SearchSettings.of(workspace).breadcrumb_weight, TEXT_WEIGHT)
    same = wanted = 0
    for query in queries:
        leg = lexical_leg(workspace, scope, query)
        found = {candidate.chunk_id for candidate in leg.search(_TOP)}
        match, reading = leg.match, mirror_reading(workspace, scope)
        if match is None:
            continue
        with reading.connection() as connection:
            connection.set_progress_handler(None)
            values = (*weights, match.widest, match.every, _TOP)
            unshortened = {chunk_id for (chunk_id,) in connection.execute(_UNSHORTENED, values)}
        same += len(found & unshortened)
        wanted += len(unshortened)
    share = same / wanted if wanted else None
    return Figure(name="lexical top ten as without shortcuts", value=share, unit="share")
