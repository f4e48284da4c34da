"""Sentences and figures of acts."""

from collections.abc import Collection, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingest.models import Job, JobKind
from kebab.identity.models import ApiToken, User, Workspace
from kebab.identity.operator_token import OPERATOR_PREFIX

#: Before the prefix of a token in `Caller.actor`.
_KBB = "kbb_"


def name_actors(workspace: Workspace, actors: Collection[str]) -> dict[str, str]:
    """Return the names of people and tokens, by their `Caller.actor`."""
    emails = {actor for actor in actors if "@" in actor}
    prefixes = {actor.removeprefix(_KBB) for actor in actors if actor.startswith(_KBB)}
    members = User.objects.filter(email__in=emails, memberships__workspace=workspace) if emails else ()
    tokens = ApiToken.objects.filter(workspace=workspace, prefix__in=prefixes) if prefixes else ()
    return {
        **{user.email: user.display_name for user in members if user.display_name},
        **{f"{_KBB}{token.prefix}": token.name for token in tokens if token.name},
    }


def describe_act(job: Job, *, files: int, names: Mapping[str, str]) -> str:
    """Return the sentence that says who did what, such as "Ada uploaded 59 files to Uploads"."""
    facts = {
        "who": _actor(job.requested_by, names),
        "source": _source_name(job),
        "count": files,
        "path": str(job.payload.get("path", job.payload.get("archive", "")))[:200],
        "version": job.payload.get("version", ""),
    }
    return _pattern(job, files) % facts


def figure_words(totals: Mapping[str, Any]) -> list[str]:
    """Return the numbers of files in words, without those that are zero."""
    words = {
        "new": ngettext("%(n)d new", "%(n)d new", totals["new"]),
        "updated": ngettext("%(n)d updated", "%(n)d updated", totals["updated"]),
        "deleted": ngettext("%(n)d deleted", "%(n)d deleted", totals["deleted"]),
        "refused": ngettext("%(n)d not added", "%(n)d not added", totals["refused"]),
    }
    return [text % {"n": totals[name]} for name, text in words.items() if totals[name]]


def _pattern(job: Job, files: int) -> str:
    if files > 1:
        return ngettext(
            "%(who)s uploaded %(count)d file to %(source)s",
            "%(who)s uploaded %(count)d files to %(source)s",
            files,
        )
    if job.kind == JobKind.RECHUNK and "path" not in job.payload:
        return _("%(who)s prepared %(source)s again")
    patterns = {
        JobKind.SYNC_SOURCE: _("%(who)s synced %(source)s"),
        JobKind.INGEST_DOCUMENT: _("%(who)s uploaded %(path)s to %(source)s"),
        JobKind.INGEST_ARCHIVE: _("%(who)s uploaded %(path)s to %(source)s"),
        JobKind.DELETE_SOURCE: _("%(who)s deleted the source %(source)s"),
        JobKind.DELETE_VERSION: _("%(who)s deleted version %(version)s of %(source)s"),
        JobKind.EMBED: _("%(who)s updated the search by meaning"),
        JobKind.EVALUATE: _("%(who)s ran an evaluation"),
        JobKind.RECHUNK: _("%(who)s changed %(path)s"),
        JobKind.GATE: _("%(who)s tried other search settings"),
    }
    return patterns.get(JobKind(job.kind), "%(who)s")


def _actor(actor: str, names: Mapping[str, str]) -> str:
    if actor.startswith(OPERATOR_PREFIX):
        return _("An operator")
    known = names.get(actor)
    # Schedules, watchers and upgrades have no name of their own.
    return known or (actor if "@" in actor or actor.startswith(_KBB) else "Kebab")


def _source_name(job: Job) -> str:
    if job.source is not None:
        return str(job.source.title or job.source.key)
    return str(job.payload.get("title") or _("a deleted source"))
