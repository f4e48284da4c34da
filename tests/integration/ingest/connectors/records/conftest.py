"""Fixtures of the connectors of records."""

from dataclasses import replace

import pytest
from cryptography.fernet import Fernet

from ingest.connectors.records import limited_reader
from ingest.services.source_definition import check_config
from search.models import Source


@pytest.fixture(autouse=True)
def reachable_servers(settings, set_limits):
    """Allow servers on this machine, credentials, and retries without a pause."""
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    set_limits(pauses_s=(0.0, 0.0))


@pytest.fixture
def set_limits(monkeypatch):
    """Return a function that sets limits of readers."""

    def set_some(**limits):
        monkeypatch.setattr(limited_reader, "LIMITS", replace(limited_reader.LIMITS, **limits))

    return set_some


@pytest.fixture
def make_record_source(workspace):
    """Return a function that makes a source of a kind."""

    def make(kind, config, key="connected"):
        fields = check_config(kind, config, lambda folder: True)
        return Source.objects.create(workspace=workspace, key=key, title=key, kind=kind, **fields)

    return make
