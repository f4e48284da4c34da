"""Settings of readers that a test runs in its own process."""

from collections.abc import Mapping
from typing import Any

from ingest.connectors.records.requests import ByteBudget, ReaderLimits, ReaderSettings


def reader_settings(config: Mapping[str, Any], *, budget_bytes: int = 10**9, **limits: Any) -> ReaderSettings:
    """Return the settings of a source on this machine, whose requests are not repeated."""
    budget = ByteBudget("127.0.0.1", most_documents=1_000)
    budget.start(budget_bytes)
    return ReaderSettings(
        config={name: value for name, value in config.items() if name != "credentials"},
        credentials=config.get("credentials", {}),
        private_hosts={"127.0.0.1"},
        user_agent="Kebab",
        limits=ReaderLimits(**{"pauses_s": (), **limits}),
        budget=budget,
    )
