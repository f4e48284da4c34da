"""The check of `kebab doctor` for chunks: how many documents have chunks of an older chunker."""

from ingest.quality_gate.older_chunks import older_documents
from kebab.health.checks import CheckResult, ok_result


def check_chunks(repair: bool) -> CheckResult:
    """Count the documents of an older chunker; a periodic task has them chunked again, if it may."""
    count = older_documents().count()
    hint = "; where there are golden queries, kebab eval gate --force replaces them" if count else ""
    return ok_result("chunks", f"{count:,} documents have chunks of an older version{hint}")
