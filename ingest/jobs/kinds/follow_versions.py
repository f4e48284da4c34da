"""Versions that follow the tags and branches of a repository, as a sync of its default version finds them."""

import re
from collections.abc import Collection

from django.db.models import Q

from ingest.connectors.git.repository import NamedCommits
from ingest.jobs.queue.request import request_sync
from ingest.models import OPEN_STATES, Job, JobKind
from ingest.services.versions import add_version
from kebab.errors import Conflict
from search.models import Source, SourceVersion
from search.models.source import MAX_TAG_CHARS
from search.retrieval.query.glob import compile_glob

# Limit per sync: of a thousand releases the newest come first, the others with the next syncs.
MOST_NEW_VERSIONS = 20


def follow_versions(job: Job, source: Source, named_commits: NamedCommits) -> None:
    """Request a sync of each version whose tag or branch has moved, and add versions for wanted new tags.

    A version whose tag is gone stays as it is. The requests have the requester of `job` and its `embed`
    option.
    """
    embed = job.payload.get("embed", True)
    versions = SourceVersion.objects.in_workspace(source.workspace_id).filter(source=source)
    commits = dict(versions.exclude(tag="").values_list("tag", "commit"))
    for tag, commit in commits.items():
        if named_commits.commit_of_version(tag) not in (None, commit) and not _is_requested(source, tag):
            request_sync(source, requested_by=job.requested_by, version=tag, embed=embed)
    for tag in _new_tags(source, named_commits, commits.keys()):
        try:
            add_version(source, tag=tag, title="", requested_by=job.requested_by, embed=embed)
        except Conflict:  # added concurrently
            continue


def _is_requested(source: Source, tag: str) -> bool:
    jobs = Job.objects.in_workspace(source.workspace_id).filter(
        Q(kind=JobKind.SYNC_SOURCE, discovered_at=None) | Q(kind=JobKind.DELETE_VERSION),
        source=source,
        state__in=OPEN_STATES,
        payload__version=tag,
    )
    return jobs.exists()


def _new_tags(source: Source, named_commits: NamedCommits, known: Collection[str]) -> list[str]:
    patterns = [compile_glob(pattern) for pattern in source.config.get("tags", ())]
    wanted = [
        tag
        for tag in named_commits.tags.keys() - set(known)
        if len(tag) <= MAX_TAG_CHARS and any(pattern.matches(tag) for pattern in patterns)
    ]
    return sorted(wanted, key=_natural_key, reverse=True)[:MOST_NEW_VERSIONS]


def _natural_key(tag: str) -> list[tuple[int, str]]:
    """Return the key of natural order: v9 before v10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", tag)]
