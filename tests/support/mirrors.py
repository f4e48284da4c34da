"""Mirrors of workspaces in the test's transaction, which other threads do not see."""

from contextlib import nullcontext

import pytest

from search.mirror import local_mirrors
from search.mirror.sync import snapshot


def sync_in_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build mirrors in the calling thread, as no snapshot can begin in the test's transaction."""

    def build_mirror(workspace_id, *, limit_s):
        return local_mirrors._sync(workspace_id)

    monkeypatch.setattr(snapshot, "postgres_snapshot", nullcontext)
    monkeypatch.setattr(local_mirrors, "trigger_sync", lambda workspace_id: None)
    monkeypatch.setattr(local_mirrors, "build_mirror", build_mirror)
