"""The workspace of a scene, with its sources and jobs."""

import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx

from ingest.jobs.queue.request import request_sync
from ingest.models import OPEN_STATES, Job
from kebab.identity.models import TokenScope, Workspace
from kebab.identity.tokens import mint_token
from kebab.people.operator import command_line_caller
from kebab.people.workspaces import create_workspace
from search.corpus import ensure_source
from search.models import SourceKind
from tests.support.patience import patiently

_LIMIT_S = 40.0


class Tenant:
    """A workspace with folder sources, named after their folders."""

    def __init__(
        self, url: str, slug: str, folders: Iterable[Path], *, corpus_id: uuid.UUID | None = None
    ) -> None:
        self._url = url
        self.workspace = create_workspace(command_line_caller(), slug)
        if corpus_id is not None:
            self.workspace.corpus_id = corpus_id
            self.workspace.save()
        self.folders = {folder.name: folder for folder in folders}
        scopes = (TokenScope.SEARCH, TokenScope.INGEST)
        self.token = mint_token(self.workspace, scopes=scopes, name="drill")[1]

    def request_syncs(self) -> list[Job]:
        """Request a sync of every source, with retries while processes are killed."""
        return [patiently(lambda key=key: self._request_sync(key)) for key in self.folders]

    def jobs(self) -> list[Job]:
        """Return all its jobs."""
        return list(Job.objects.in_workspace(self.workspace))

    def has_open_jobs(self) -> bool:
        """Return whether a job is queued or running."""
        return bool(Job.objects.in_workspace(self.workspace).filter(state__in=OPEN_STATES).exists())

    def is_searchable(self) -> bool:
        """Return whether a search finds everything committed; the first search makes the node build
        its mirror.
        """
        min_seq = Workspace.objects.values_list("head_seq", flat=True).get(pk=self.workspace.pk)
        return self.search("anything", min_seq=min_seq).status_code == 200

    def search(self, query: str, **parameters: Any) -> httpx.Response:
        """Return the answer to a search over HTTP for words as they are. Raises httpx.HTTPError."""
        return httpx.post(
            f"{self._url}/api/v1/workspaces/{self.workspace.slug}/search",
            json={"q": query, "typos": False, **parameters},
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=_LIMIT_S,
        )

    def upload(self, path: str, text: str) -> httpx.Response:
        """Return the answer to an upload. Raises httpx.HTTPError."""
        return httpx.post(
            f"{self._url}/api/v1/workspaces/{self.workspace.slug}/documents",
            json={"path": path, "text": text},
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=_LIMIT_S,
        )

    def delete(self, doc_id: str) -> httpx.Response:
        """Return the answer to the deletion of a document. Raises httpx.HTTPError."""
        return httpx.delete(
            f"{self._url}/api/v1/workspaces/{self.workspace.slug}/documents/{doc_id}",
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=_LIMIT_S,
        )

    def files_by_source(self, files: Mapping[str, str]) -> dict[tuple[str, str], str]:
        """Return `files` (by path below the folders' parent) by key of their source and path."""
        return {tuple(path.split("/", 1)): text for path, text in files.items()}

    def _request_sync(self, key: str) -> Job:
        config = {"path": str(self.folders[key])}
        source = ensure_source(self.workspace, key, kind=SourceKind.FOLDER, config=config)
        return request_sync(source, requested_by="drill")
