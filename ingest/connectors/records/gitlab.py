"""The connector of issues and wikis of GitLab (REST API v4), also on servers of one's own.

Written from "Issues API", "Notes API", "Project wikis API", "Projects API" and "REST API" (pagination) of
docs.gitlab.com.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from ingest.connectors.records.issues import (
    ChangeCursor,
    Comment,
    Issue,
    JsonServer,
    fetch_pages,
    has_next_page,
    list_issues,
    parse_forge,
)
from ingest.connectors.records.requests import ReaderSettings
from ingest.connectors.records.wire import DocumentRecord, Record, WarningRecord
from ingest.connectors.web.addresses import Address

# Of a wiki, which is listed whole, with the text of its pages.
_MAX_WIKI_BYTES: Final = 128 * 1024**2
# Answers of a wiki that the token does not open.
_REFUSALS: Final = (403, 404)
_EXTENSIONS: Final = {"markdown": "md", "asciidoc": "adoc", "org": "org"}


class GitlabReader:
    """A reader of the issues and wiki pages of a project; confidential issues and internal notes stay out."""

    def __init__(self, settings: ReaderSettings) -> None:
        project = parse_forge(settings.config, gitlab_api)
        token = settings.credentials.get("token")
        headers = {"PRIVATE-TOKEN": token} if token else {}
        self._server = JsonServer(project.api, settings, lambda: headers)
        self._relist_after_s = settings.limits.relist_after_s
        self._path = f"/projects/{quote(project.path, safe='')}"

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield the issues that have changed, once a day all, and the wiki.

        Raises ListingFailed, SourceAway.
        """
        start = ChangeCursor.parse(cursor, self._relist_after_s)
        project, _ = self._server.get(self._path, {})
        last, is_whole = start.since, True
        if _is_enabled(project, "issues"):
            last = yield from list_issues(self._list_page, start)
        if _is_enabled(project, "wiki"):
            is_whole = yield from self._list_wiki(project)
        yield from start.end(last, is_whole=is_whole)

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Return an issue with its notes. Raises FileNotFoundError, OSError, SourceAway."""
        address = f"{self._path}/issues/{locator}"
        found, answer = self._server.fetch(address, {}, limit_bytes=limit_bytes)
        left_bytes = limit_bytes - len(answer.body)
        by_time = {"order_by": "created_at", "sort": "asc"}
        with self._server.expected_form(OSError):
            issue = _issue(found)
            if issue.is_confidential:
                raise FileNotFoundError(path)
            notes = fetch_pages(self._server, f"{address}/notes", by_time, left_bytes)
            return issue.render([_comment(note) for note in notes if _is_public(note)])

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _list_page(self, since: str, page: int) -> tuple[Sequence[Issue], bool]:
        by_change = {"order_by": "updated_at", "sort": "asc", "scope": "all"}
        query = {**by_change, "per_page": self._server.page_items, "page": page}
        found, answer = self._server.get(
            f"{self._path}/issues", query | ({"updated_after": since} if since else {}), form=list
        )
        with self._server.expected_form():
            return [_issue(each) for each in found], has_next_page(answer)

    def _list_wiki(self, project: Mapping[str, Any]) -> Generator[Record, None, bool]:
        """Yield the wiki's pages, and return whether they may be read."""
        pages, answer = self._server.get(
            f"{self._path}/wikis",
            {"with_content": "1"},
            limit_bytes=_MAX_WIKI_BYTES,
            form=list,
            accepted=(200, *_REFUSALS),
        )
        if answer.status in _REFUSALS:
            yield WarningRecord(message=f"The wiki may not be read ({answer.status}).")
            return False
        for page in pages:
            with self._server.expected_form():
                record = _wiki_page(project["web_url"], page)
            yield record
        return True


def _issue(found: Mapping[str, Any]) -> Issue:
    metadata = {
        "url": found["web_url"],
        "state": found["state"],
        "created": found["created_at"],
        "labels": list(found["labels"]),
        "assignees": [each["username"] for each in found.get("assignees") or ()],
        "milestone": (found.get("milestone") or {}).get("title"),
    }
    return Issue(
        number=found["iid"],
        updated_at=datetime.fromisoformat(found["updated_at"]),
        title=found["title"],
        text=found["description"] or "",
        author=_name(found["author"]),
        comment_count=found["user_notes_count"],
        metadata={name: value for name, value in metadata.items() if value},
        is_confidential=bool(found.get("confidential")),
    )


def _wiki_page(project_url: str, page: Mapping[str, Any]) -> Record:
    slug, extension = page["slug"], _EXTENSIONS.get(page["format"])
    if extension is None:
        return WarningRecord(message=f"The wiki page {slug} of format {page['format']} is not read.")
    return DocumentRecord(
        path=f"wiki/{slug}.{extension}",
        content=page["content"].encode(errors="replace"),
        title=page["title"],
        metadata={"url": f"{project_url}/-/wikis/{quote(slug)}"},
    )


def _comment(note: Mapping[str, Any]) -> Comment:
    return Comment(author=_name(note["author"]), created_at=note["created_at"], text=note["body"] or "")


def _is_public(note: Mapping[str, Any]) -> bool:
    """Return whether a note is by a person, and for all who see the issue."""
    return not (note["system"] or note.get("internal") or note.get("confidential"))


def _is_enabled(project: Mapping[str, Any], feature: str) -> bool:
    level = project.get(f"{feature}_access_level")
    return level != "disabled" if level else bool(project.get(f"{feature}_enabled", True))


def _name(user: Mapping[str, Any]) -> str:
    return str(user["name"])


def gitlab_api(page: Address) -> str:
    """Return the address of the API beside a page of a project."""
    return page.with_key("/api/v4").url
