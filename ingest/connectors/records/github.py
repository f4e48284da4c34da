"""The connector of issues of GitHub and GitHub Enterprise (REST API, version 2022-11-28).

Written from "REST API endpoints for issues", "… for issue comments", "Using pagination in the REST API" and
"Rate limits for the REST API" of docs.github.com. The wiki of a repository is a repository of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from ingest.connectors.records.wire import Record
from ingest.connectors.web.addresses import Address

_HEADERS: Final = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


class GithubReader:
    """A reader of the issues of a repository, and of its pull requests if wanted."""

    def __init__(self, settings: ReaderSettings) -> None:
        repository = parse_forge(settings.config, github_api)
        token = settings.credentials.get("token")
        headers = {**_HEADERS, **({"Authorization": f"Bearer {token}"} if token else {})}
        self._server = JsonServer(repository.api, settings, lambda: headers)
        self._budget = settings.budget
        self._relist_after_s = settings.limits.relist_after_s
        self._path = f"/repos/{quote(repository.path)}/issues"
        self._reads_pulls = bool(settings.config.get("pull_requests"))

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield the issues that have changed, once a day all. Raises ListingFailed, SourceAway."""
        start = ChangeCursor.parse(cursor, self._relist_after_s)
        last = yield from list_issues(self._list_page, start)
        yield from start.end(last)

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Return an issue with its comments. Raises FileNotFoundError, OSError, SourceAway."""
        address = f"{self._path}/{locator}"
        found, answer = self._server.fetch(address, {}, limit_bytes=limit_bytes)
        left_bytes = limit_bytes - len(answer.body)
        with self._server.expected_form(OSError):
            comments = [
                Comment(author=_login(each["user"]), created_at=each["created_at"], text=each["body"] or "")
                for each in fetch_pages(self._server, f"{address}/comments", {}, left_bytes)
            ]
            return self._issue(found).render(comments)

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _list_page(self, since: str, page: int) -> tuple[Sequence[Issue], bool]:
        by_change = {"state": "all", "sort": "updated", "direction": "asc"}
        query = {**by_change, "per_page": self._server.page_items, "page": page}
        found, answer = self._server.get(self._path, query | ({"since": since} if since else {}), form=list)
        with self._server.expected_form():
            issues = [self._issue(each) for each in found]
        # Pull requests, too, which need not be wanted.
        self._budget.earn(sum(not issue.is_wanted for issue in issues))
        return issues, has_next_page(answer)

    def _issue(self, found: Mapping[str, Any]) -> Issue:
        is_pull = "pull_request" in found
        metadata = {
            "url": found["html_url"],
            "state": found["state"],
            "created": found["created_at"],
            # Old answers have labels as texts.
            "labels": [each["name"] if isinstance(each, dict) else each for each in found["labels"]],
            "assignees": [_login(each) for each in found.get("assignees") or ()],
            "milestone": (found.get("milestone") or {}).get("title"),
        }
        return Issue(
            number=found["number"],
            folder="pulls" if is_pull else "issues",
            updated_at=datetime.fromisoformat(found["updated_at"]),
            title=found["title"],
            text=found["body"] or "",
            author=_login(found["user"]),
            comment_count=found["comments"],
            metadata={name: value for name, value in metadata.items() if value},
            is_wanted=self._reads_pulls or not is_pull,
        )


def github_api(page: Address) -> str:
    """Return the address of the API beside a page of a repository."""
    if page.host in ("github.com", "www.github.com"):
        return "https://api.github.com"
    if page.host.endswith(".ghe.com"):
        return f"https://api.{page.host}"
    return page.with_key("/api/v3").url


def _login(user: Mapping[str, Any] | None) -> str:
    """Return the name of a user; that of deleted ones is "ghost", as GitHub shows it."""
    return str(user["login"]) if user else "ghost"
