"""A killed import leaves nothing visible, and the next one imports everything."""

import os
import random
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from django.conf import settings as django_settings
from django.db import connection

from kebab.errors import Conflict
from kebab.identity.models import Group, Workspace
from search.models import Chunk, ChunkVector, Document, EmbeddingSpace, Source, Topic
from tests.integration.search.bundles.factories import rows_of
from tests.integration.search.bundles.test_import import BEFORE_THE_COMMIT, bring_in
from tests.support.stack import eventually

pytestmark = pytest.mark.slow

IMPORT = """
import sys, django
from django.conf import settings
settings.STORAGES["default"]["OPTIONS"] = {"location": sys.argv[2]}
django.setup()
from django.db import connections
for alias in ("default", "owner"):
    connections[alias].settings_dict["NAME"] = sys.argv[1]
from pathlib import Path
from kebab.tenancy.current_workspace import acting_everywhere
from search.bundles.importer.importer import ImportRequest, import_bundle
print("begins", flush=True)
with acting_everywhere():
    import_bundle(ImportRequest(file=Path(sys.argv[3]), slug="elsewhere"))
"""
TENANTS = (Group, Source, Document, Chunk, EmbeddingSpace, ChunkVector, Topic)


@pytest.fixture
def begin(sample, blobs, mirrors):
    """Import the bundle in another process."""

    def start(**environment):
        own = {"DJANGO_SETTINGS_MODULE": "kebab.settings", "KEBAB_MIRROR_DIR": str(mirrors)}
        name = connection.settings_dict["NAME"]
        return subprocess.Popen(
            [sys.executable, "-c", IMPORT, name, str(blobs), str(sample.file)],
            env={**os.environ, **own, **environment},
            cwd=django_settings.BASE_DIR,
            stdout=subprocess.PIPE,
        )

    return start


def exit_code_of(process):
    try:
        return process.wait(120)
    finally:
        process.stdout.close()
        process.kill()


def row_counts():
    return [model.objects.count() for model in TENANTS]


def _is_alone():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state <> 'idle'"
        )
        return cursor.fetchone()[0] == 0


@pytest.mark.parametrize("failpoint", BEFORE_THE_COMMIT)
def test_kill_before_the_commit_leaves_no_row(sample, begin, blobs, failpoint):
    assert exit_code_of(begin(KEBAB_FAILPOINT=failpoint)) == -signal.SIGKILL
    assert row_counts() == [0] * len(TENANTS)
    assert not Workspace.objects.exists()
    eventually(_is_alone, "the killed one's transaction is over", 30)

    imported = bring_in(sample).workspace

    assert rows_of(imported) == sample.rows
    # It has taken up the bytes that were kept by then.
    assert [path.name for path in blobs.iterdir()] == [str(imported.pk)]


def test_import_killed_after_its_commit_is_complete(sample, begin):
    assert exit_code_of(begin(KEBAB_FAILPOINT="import_committed")) == -signal.SIGKILL

    assert rows_of(Workspace.objects.get(slug="elsewhere")) == sample.rows
    with pytest.raises(Conflict):
        bring_in(sample)


@pytest.mark.parametrize("seed", range(4))
def test_import_killed_at_any_moment_is_complete_or_absent(sample, begin, seed):
    chance = random.Random(seed)
    process = begin()
    process.stdout.readline()
    with suppress(subprocess.TimeoutExpired):
        process.wait(chance.random() * 0.5)
    process.kill()
    exit_code_of(process)
    eventually(_is_alone, "the killed one's transaction is over", 30)
    found = Workspace.objects.filter(slug="elsewhere").first()
    if found is None:
        assert row_counts() == [0] * len(TENANTS)
        found = bring_in(sample).workspace

    assert rows_of(found) == sample.rows
