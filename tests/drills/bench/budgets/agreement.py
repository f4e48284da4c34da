"""Agreement of the lexical leg with its own scoring expression, run by FTS5 without any shortcut."""

from collections.abc import Sequence

from kebab.identity.models import Workspace
from kebab.identity.reader import OPERATOR
from search.access.scope import resolve_scope
from search.engine.corpus import mirror_source
from search.mirror.query.lexical import TEXT_WEIGHT, LexicalLeg
from search.retrieval.fusion.legs import unpack_ids
from search.retrieval.query.filters import SearchFilters
from search.settings.search_settings import SearchSettings
from tests.drills.bench.budgets.figures import Figure

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
        with mirror_source(workspace, scope).open() as view:
            result = LexicalLeg(view, query, breadcrumb_weight=weights[0]).search(_TOP)
            found, match = set(unpack_ids(result.ids)), result.match
            if match is None:
                continue
            values = (*weights, match.widest, match.every, _TOP)
            unshortened = {chunk_id for (chunk_id,) in view.connection.execute(_UNSHORTENED, values)}
        same += len(found & unshortened)
        wanted += len(unshortened)
    share = same / wanted if wanted else None
    return Figure(name="lexical top ten as without shortcuts", value=share, unit="share")
