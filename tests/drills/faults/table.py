"""Table of faults, each of which replaces one piece of the product's code by a wrong one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One wrong line, and the tests to try first."""

    name: str
    file: str
    #: Occurs once in the file.
    right: str
    wrong: str
    #: Folders below tests/; all default tests are run when none of these detects it.
    tests: tuple[str, ...]


_ENGINE = ("integration/search/engine", "integration/search/retrievers", "api/search")
_LEAKS = ("security/leaks/test_matrix.py", "security/leaks/test_mcp_leaks.py", "security/leaks")
_MIRROR = ("integration/search/mirror",)
_RETRIEVAL = ("unit/search/retrieval",)
_JOBS = ("integration/ingest/jobs",)

FAULTS = (
    Fault(
        name="candidates of a lagging mirror not checked",
        file="search/engine/readback.py",
        right='    if not failpoints.is_on("readback"):\n        return unchecked_documents',
        wrong="    if True:\n        return unchecked_documents",
        tests=_ENGINE,
    ),
    Fault(
        name="hits not checked",
        file="search/engine/readback.py",
        right='    if failpoints.is_on("readback"):\n        rows = read_chunks',
        wrong="    if False:\n        rows = read_chunks",
        tests=_ENGINE,
    ),
    Fault(
        name="lagging mirror trusted",
        file="search/engine/corpus.py",
        right="        return self.trusts_mirror and view.position == self.scope.head",
        wrong="        return self.trusts_mirror",
        tests=_ENGINE,
    ),
    Fault(
        name="filters missing in the check of candidates by a mirror",
        file="search/mirror/query/view.py",
        right="        if self.scope.conditions:",
        wrong="        if self.scope.operators is not None:",
        tests=("integration/search/mirror", *_ENGINE),
    ),
    Fault(
        name="operators missing in the check of candidates by a mirror",
        file="search/mirror/query/view.py",
        right="        if self.scope.conditions:",
        wrong="        if self.scope.filter_conditions:",
        tests=("integration/search/engine/test_operators.py",),
    ),
    Fault(
        name="operators missing in the check of candidates by Postgres",
        file="search/engine/readback.py",
        right="    return dict(read_chunks(scope, ",
        wrong="    return dict(read_chunks(replace(scope, operators=None), ",
        tests=("integration/search/engine/test_operators.py",),
    ),
    Fault(
        name="operators missing on later pages",
        file="search/engine/pages.py",
        right="apply_operators(workspace, resolve_scope(workspace, query.filters, reader), query)",
        wrong="(resolve_scope(workspace, query.filters, reader), query)",
        tests=("integration/search/engine/test_operators.py",),
    ),
    Fault(
        name="scope of the reader missing in facets",
        file="search/engine/facets.py",
        right="    scope = resolve_scope(workspace, query.filters, reader)",
        wrong="    scope = resolve_scope(workspace, query.filters, Reader(reads_all=True))",
        tests=("integration/search/engine/test_facets.py", "security/leaks/test_as_if_absent.py", "security"),
    ),
    Fault(
        name="scope of the reader missing in suggestions",
        file="search/engine/suggest.py",
        right="    scope = resolve_scope(workspace, SearchFilters(), reader)",
        wrong="    scope = resolve_scope(workspace, SearchFilters(), Reader(reads_all=True))",
        tests=("security/leaks/test_matrix.py", "security"),
    ),
    Fault(
        name="scope of the reader missing in MCP fetch",
        file="search/mcp/tools/documents.py",
        right="    documents = _documents(access)\n    chunks",
        wrong="    documents = Document.objects.in_workspace(access.workspace).select_related("
        '"source", "version")\n    chunks',
        tests=("security/leaks/test_mcp_leaks.py",),
    ),
    Fault(
        name="workspace missing in an export",
        file="search/bundles/rows.py",
        right="            Document.objects.in_workspace(workspace_id)\n            .filter(id__gt=after,"
        " source__workspace=workspace_id, version__workspace=workspace_id)",
        wrong="            Document.objects.filter(id__gt=after)",
        tests=("integration/search/bundles",),
    ),
    Fault(
        name="RRF constant 61",
        file="search/retrieval/fusion/scores.py",
        right="RRF_K = 60",
        wrong="RRF_K = 61",
        tests=_RETRIEVAL,
    ),
    Fault(
        name="tie rule reversed",
        file="search/retrieval/fusion/ranking.py",
        right="        return np.lexsort((np.where(places > 0, places, len(places) + 1), -fused))",
        wrong="        return np.lexsort((-np.where(places > 0, places, len(places) + 1), -fused))",
        tests=_RETRIEVAL,
    ),
    Fault(
        name="mirror skips a change",
        file="search/mirror/sync/sync.py",
        right="in snapshot.read_documents(workspace_id, tail.doc_ids):",
        wrong="in snapshot.read_documents(workspace_id, tail.doc_ids[:1]):",
        tests=_MIRROR,
    ),
    Fault(
        name="deletion not mirrored",
        file="search/mirror/sync/sync.py",
        right="erased |= applier.delete(doc_id.hex) if state is None else applier.upsert(state)",
        wrong="erased |= False if state is None else applier.upsert(state)",
        tests=_MIRROR,
    ),
    Fault(
        name="fence off",
        file="ingest/jobs/queue/lease.py",
        right="        return rows.filter(state=JobState.RUNNING, attempt=self.attempt)",
        wrong="        return rows",
        tests=_JOBS,
    ),
    Fault(
        name="lease never renewed",
        file="ingest/jobs/queue/lease.py",
        right="                    self._check_lease(renew=renew)",
        wrong="                    self._check_lease(renew=False)",
        tests=_JOBS,
    ),
    Fault(
        name="token scope ignored",
        file="kebab/identity/caller.py",
        right="        elif self.scope not in access.scopes:",
        wrong="        elif not access.scopes:",
        tests=("integration/kebab", "security/leaks/test_scopes.py"),
    ),
    Fault(
        name="revoked token accepted",
        file="kebab/identity/models/token.py",
        right="        return self.revoked_at is None and (",
        wrong="        return (",
        tests=("integration/kebab/people", "security/leaks"),
    ),
    Fault(
        name="cursor of another caller accepted",
        file="search/engine/cursors.py",
        right='    return f"{workspace_id.hex}:{caller}"',
        wrong='    return f"{workspace_id.hex}:"',
        tests=("api/search", "integration/search/engine", "security"),
    ),
    Fault(
        name="path glob crosses /",
        file="search/retrieval/query/glob.py",
        right='    return f"{dialect.atomic}{first}{found_first}[^/]*{last})"',
        wrong='    return f"{dialect.atomic}{first}{found_first}.*{last})"',
        tests=_RETRIEVAL,
    ),
    Fault(
        name="snippet one character too long",
        file="search/retrieval/text/snippet.py",
        right="    if length - begins <= max_chars:",
        wrong="    if length - begins <= max_chars + 1:",
        tests=_RETRIEVAL,
    ),
    Fault(
        name="highlight off by one",
        file="search/retrieval/text/snippet.py",
        right="(end if end < high else high) - low)",
        wrong="(end if end < high else high) - low - 1)",
        tests=_RETRIEVAL,
    ),
    Fault(
        name="vector of a retired space searched",
        file="search/vectors/spaces.py",
        right="filter(Q(workspace_id=workspace_id), state=SpaceState.LIVE)",
        wrong="filter(workspace_id=workspace_id, state__in=[SpaceState.LIVE, SpaceState.RETIRED])",
        tests=("integration/search/embedders", "integration/search/vectors", "integration/search/engine"),
    ),
    Fault(
        name="equal texts get one chunk id",
        file="search/corpus/content_ids.py",
        right="        occurrences[text] += 1\n",
        wrong="        occurrences[text] = 1\n",
        tests=("integration/search/corpus", "unit/search"),
    ),
    Fault(
        name="quarantine ignored",
        file="ingest/jobs/items/quarantine.py",
        right="        return self._reasons.get((content_hash, parser_version_for(path)))",
        wrong="        return None",
        tests=(*_JOBS, "api/ingest"),
    ),
    Fault(
        name="attempt counted twice",
        file="ingest/jobs/items/worker.py",
        right='.update(attempts=F("attempts") + 1)',
        wrong='.update(attempts=F("attempts") + 2)',
        tests=_JOBS,
    ),
    Fault(
        name="CSRF off on one page",
        file="kebab/people/pages/groups.py",
        right="class GroupsPage(FormPage):",
        wrong="from django.utils.decorators import method_decorator  # noqa: E402\n"
        "from django.views.decorators.csrf import csrf_exempt  # noqa: E402\n\n\n"
        '@method_decorator(csrf_exempt, name="dispatch")\nclass GroupsPage(FormPage):',
        tests=("pages/accounts", "pages"),
    ),
    Fault(
        name="a title not escaped",
        file="search/templates/search/hit.html",
        right='id="open-{{ shown.rank }}">{{ shown.title }}',
        wrong='id="open-{{ shown.rank }}">{{ shown.title|safe }}',
        tests=("pages/search", "pages", "security"),
    ),
    Fault(
        name="redirect to a private address followed",
        file="kebab/http_client/connections.py",
        right="    if host.lower() not in private_hosts and not all(map(_is_public, addresses)):",
        wrong="    if False:",
        tests=("integration/ingest/connectors", "integration/search/rerank", "unit/ingest", *_JOBS),
    ),
    Fault(
        name="zip path traversal",
        file="ingest/archives/listing.py",
        right='    return SkipReason.PATH_OUTSIDE if ".." in parts else parts',
        wrong="    return parts",
        tests=("unit/ingest/archives", "unit/ingest"),
    ),
    Fault(
        name="answer cites a passage that was not given",
        file="search/answers/prompt.py",
        right="    if len(named) < len(written):",
        wrong="    if False:",
        tests=("integration/search/answers",),
    ),
    Fault(
        name="gate passes a worse model",
        file="search/evaluation/gate.py",
        right="self.compared.difference >= -TOLERANCE",
        wrong="self.compared.difference >= -1.0",
        tests=("integration/ingest/quality_gate",),
    ),
    Fault(
        name="per-file cap one too many",
        file="search/retrieval/fusion/post_fusion.py",
        right="        if counts[file_of(candidate)] <= cap:",
        wrong="        if counts[file_of(candidate)] <= cap + 1:",
        tests=_RETRIEVAL,
    ),
    Fault(
        name="idempotency key of another request replayed",
        file="kebab/http/api/idempotency.py",
        right="    if not _is_same_request(request, bytes(row.request_sha256), fingerprint):",
        wrong="    if False:",
        tests=("integration/kebab/api", "api"),
    ),
    Fault(
        name="link out of a folder followed",
        file="ingest/connectors/folder_kind.py",
        right="                if os.path.commonpath([self._root, target]) != self._root:",
        wrong="                if False:",
        tests=("unit/ingest", "integration/ingest"),
    ),
    Fault(
        name="restricted source readable by all",
        file="search/models/source.py",
        right="    return models.Q(is_restricted=False) | models.Q(models.Exists(readers))",
        wrong="    return models.Q(is_restricted__in=[True, False]) | models.Q(models.Exists(readers))",
        tests=("security/rights", *_LEAKS),
    ),
    Fault(
        name="highlight of a snippet unescaped in offsets of bytes",
        file="search/analysis/tokens.py",
        right="    if word.isascii():\n        return tuple([(low, high, tuple(terms))",
        wrong="    if True:\n        return tuple([(low, high, tuple(terms))",
        tests=_RETRIEVAL,
    ),
)
