"""Fixtures of bundle tests: bundles of a workspace with rows of every kind, and their imports."""

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from kebab.identity.models import Workspace
from search.bundles.export import export_bundle
from search.bundles.format.manifest import Manifest
from search.bundles.importer.importer import ImportRequest, import_bundle
from search.embedders import configured
from search.mirror import local_mirrors
from tests.integration.search.bundles.factories import fill, rows_of
from tests.integration.search.bundles.forgeries import write_small
from tests.integration.search.vectors.indexes import drop_indexes
from tests.support.corpus import make_workspace
from tests.support.database import empty_tables
from tests.support.stores import stores_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A bundle, and the rows of the workspace that it was written from."""

    file: Path
    rows: dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip:
    """A workspace, its bundle, what an import made of it, and a bundle of that."""

    workspace: Workspace
    file: Path
    manifest: Manifest
    imported: Workspace
    second_manifest: Manifest


@contextmanager
def _own_places(folder):
    with override_settings(**stores_in(folder)):
        configured.clear_query_caches()
        try:
            yield
        finally:
            local_mirrors.reader_pool().close()
            empty_tables()


def _filled_workspace():
    return fill(make_workspace(settings={"default_k": 7}))


@pytest.fixture(scope="session")
def _sample(django_db_setup, django_db_blocker, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    with django_db_blocker.unblock(), _own_places(folder):
        workspace = _filled_workspace()
        export_bundle(workspace, folder / "all.kebab")
        return Sample(file=folder / "all.kebab", rows=rows_of(workspace))


@pytest.fixture(scope="module")
def round_trip(django_db_setup, django_db_blocker, tmp_path_factory):
    """Yield a committed round trip with mirrors, for tests that only read."""
    folder = tmp_path_factory.mktemp("trip")
    with django_db_blocker.unblock(), _own_places(folder):
        workspace = _filled_workspace()
        manifest = export_bundle(workspace, folder / "all.kebab")
        made = import_bundle(ImportRequest(file=folder / "all.kebab", slug="elsewhere"))
        yield RoundTrip(
            workspace=workspace,
            file=folder / "all.kebab",
            manifest=manifest,
            imported=made.workspace,
            second_manifest=export_bundle(made.workspace, folder / "again.kebab"),
        )


@pytest.fixture
def workspace(transactional_db, mirrors, blobs):
    """Return a filled, committed workspace: exports and imports use transactions of their own."""
    yield _filled_workspace()
    drop_indexes()


@pytest.fixture
def sample(_sample, transactional_db, mirrors, blobs, tmp_path):
    """Return a copy of the sample's file; the database holds no workspace."""
    file = tmp_path / "all.kebab"
    file.write_bytes(_sample.file.read_bytes())
    yield Sample(file=file, rows=_sample.rows)
    drop_indexes()


@pytest.fixture(scope="session")
def _small(django_db_setup, django_db_blocker, tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    with django_db_blocker.unblock(), _own_places(folder):
        write_small(make_workspace(slug="small"), folder / "small.kebab")
    return (folder / "small.kebab").read_bytes()


@pytest.fixture
def file(db, _small, tmp_path):
    """Return a copy of a small bundle. Without `db` a run of such tests alone would have no tables."""
    (tmp_path / "small.kebab").write_bytes(_small)
    return tmp_path / "small.kebab"
