"""Repositories on this machine, and sources that read them."""

import pytest
from cryptography.fernet import Fernet

from search.corpus import ensure_source
from tests.integration.ingest.connectors.git.repositories import WrittenRepository


@pytest.fixture
def source(git_source):
    return git_source


@pytest.fixture
def served(tmp_path, settings):
    """A repository of two files below a folder that hosts may serve; secrets of its hosts can be kept."""
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    made = WrittenRepository(tmp_path / "served" / "origin")
    made.commit({"a.md": "alpha\n", "b.md": "beta\n"})
    return made


@pytest.fixture
def served_source(workspace, served):
    return ensure_source(workspace, "repo", kind="git", config={"url": served.url})
