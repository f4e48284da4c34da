"""Fixtures of the default model: its graph, built once a run (about eight seconds), and sentences."""

from pathlib import Path

import pytest

from search.embedders.minilm.embedder import MiniLmEmbedder
from search.embedders.minilm.graph_file import write_graph
from search.embedders.minilm.weights import WEIGHTS, verify_file
from search.retrieval.errors import EmbedderUnavailable

SENTENCES = (
    "The cache is emptied when the settings change.", "How do I rotate an access token without downtime?",
    "A mutex must be released by the thread that acquired it.",
    "std::vector grows geometrically, so appending is amortised constant time.",
    "RATE_LIMIT_TRUSTED_PROXY_HOPS sets how many proxies are believed.",
    "def merge(left: list[int], right: list[int]) -> list[int]: ...",
    "SELECT name FROM users WHERE created_at > now() - interval '7 days'",
    "The bridge was closed to lorries after the flood of 1953.",
    "Bread rises because yeast turns sugar into carbon dioxide.",
    "Aspirin inhibits cyclooxygenase and so reduces inflammation.",
    "The committee postponed its decision until the next meeting.",
    "Wing flutter sets in above a critical dynamic pressure.",
    "An index that is never read still slows every insert down.",
    "A deadlock needs mutual exclusion, hold and wait, no preemption and a cycle.",
    "The witness could not remember the colour of the car.",
    "Rents rose faster than wages in four of the five cities.", "Warm the milk, but do not let it boil.",
)  # fmt: skip


@pytest.fixture(scope="session")
def sentences() -> tuple[str, ...]:
    return SENTENCES


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the quantised graph."""
    try:
        verify_file(WEIGHTS)
    except EmbedderUnavailable as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("models")
    write_graph(folder)
    return folder


@pytest.fixture(scope="session")
def embedder(models_dir: Path) -> MiniLmEmbedder:
    return MiniLmEmbedder(models_dir, threads=2)
