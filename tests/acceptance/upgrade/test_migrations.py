"""Migrations only expand: the previous version works while they run and afterwards, to permit a way back."""

from types import SimpleNamespace

import pytest
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import OperationalError, connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from psycopg.errors import LockNotAvailable

from kebab.tenancy.migration_locks import retry_on_lock_timeout
from kebab.tenancy.migration_operations import AddIndexBeside
from kebab.tenancy.policies import wall
from kebab.tenancy.roles import owner_connection
from search.models import Chunk
from tests.acceptance.upgrade.migration_rules import FIRST_RELEASE, faults, is_subject_to_rules

LOADER = MigrationLoader(None, replace_migrations=False)
LATER = sorted(key for key in LOADER.disk_migrations if is_subject_to_rules(*key))
INDEX = models.Index(fields=("workspace", "path"), name="by_path")
CHECK = models.CheckConstraint(condition=models.Q(size_bytes__gte=0), name="size_positive")


def state_before(key):
    return LOADER.project_state(key, at_end=False)


def test_every_migration_after_the_first_release_expands():
    found = {key: list(faults(LOADER.disk_migrations[key], state_before(key))) for key in LATER}
    assert {key: messages for key, messages in found.items() if messages} == {}


def test_migrations_of_the_first_release_are_unchanged():
    released = {
        app: [int(name.split("_")[0]) for of, name in LOADER.disk_migrations if of == app]
        for app in FIRST_RELEASE
    }
    assert all(last in released[app] for app, last in FIRST_RELEASE.items())


def faults_of(*operations, **fields):
    created = SimpleNamespace(operations=operations, app_label="search", **{"atomic": True, **fields})
    return list(faults(created, LOADER.project_state(("search", "0018_asked_queries"))))


def test_one_transaction_locks_one_table():
    two = (
        migrations.AddField("document", "extra", models.CharField(max_length=9, null=True)),
        migrations.AddField("chunk", "extra", models.CharField(max_length=9, null=True)),
    )
    assert len(faults_of(*two)) == 1
    assert faults_of(*two, atomic=False) == []


def field(name="extra", **options):
    return migrations.AddField("document", name, models.CharField(max_length=9, **options))


def alter_mime(**options):
    return migrations.AlterField("document", "mime", models.CharField(**options))


@pytest.mark.parametrize(
    "operation",
    [
        migrations.RemoveField("document", "lang"),
        migrations.RenameField("document", "lang", "language"),
        migrations.DeleteModel("Change"),
        migrations.RenameModel("Change", "Entry"),
        migrations.AlterModelTable("Change", "search_log"),
        migrations.AddIndex("document", INDEX),
        migrations.RemoveIndex("chunk", "chunk_by_document"),
        migrations.AddConstraint("document", CHECK),
        migrations.RemoveConstraint("document", "document_trust_known"),
        migrations.RunSQL("UPDATE search_document SET lang = 'en'"),
        migrations.RunPython(migrations.RunPython.noop),
        migrations.AddField("document", "extra", models.CharField(max_length=9, default="")),
        field(null=True, unique=True),
        field(null=True, db_index=True),
        migrations.AddField("document", "by", models.ForeignKey("people.User", models.CASCADE, null=True)),
        alter_mime(max_length=100),
        alter_mime(max_length=200, null=True),
        migrations.AlterField("document", "mime", models.TextField()),
    ],
    ids=lambda operation: operation.describe(),
)
def test_blocking_or_contracting_operation_is_a_fault(operation):
    assert len(faults_of(operation)) == 1


@pytest.mark.parametrize(
    "operation",
    [
        migrations.CreateModel("Fresh", [("id", models.BigAutoField(primary_key=True))]),
        field(null=True),
        field(db_default=""),
        AddIndexBeside("document", INDEX),
        AddConstraintNotValid("document", CHECK),
        alter_mime(max_length=300),
        alter_mime(max_length=200, help_text="other words"),
        migrations.RunSQL("CREATE OR REPLACE FUNCTION kebab_one() RETURNS int LANGUAGE sql AS 'SELECT 1'"),
    ],
    ids=lambda operation: operation.describe(),
)
def test_expanding_operation_is_accepted(operation):
    assert faults_of(operation) == []


def test_operations_on_a_new_table_are_accepted():
    created = migrations.CreateModel("Fresh", [("id", models.BigAutoField(primary_key=True))])
    index = migrations.AddIndex("fresh", models.Index(fields=("id",), name="fresh_by_id"))
    assert faults_of(created, index, wall("search_fresh")) == []
    assert len(faults_of(created, wall("search_chunk"))) == 1


def test_reason_permits_the_named_operation_only():
    operations = (migrations.RunSQL("DROP FUNCTION old()"), field(null=True))
    assert faults_of(*operations, safe_because={0: "nothing has called it since 0.1.0"}) == []
    assert len(faults_of(*operations, safe_because={0: " "})) == 1
    assert len(faults_of(*operations, safe_because={0: "why", 1: "no need"})) == 1
    assert len(faults_of(*operations, safe_because={0: "why", 7: "there is none"})) == 1


@pytest.mark.slow
def test_migration_without_a_lock_is_retried_and_finally_fails():
    tries = []

    def migrate():
        tries.append(1)
        if len(tries) < 2:
            raise OperationalError("locked") from LockNotAvailable()

    retry_on_lock_timeout(migrate, lambda _: None)
    assert len(tries) == 2
    with pytest.raises(OperationalError):
        tries.clear()
        retry_on_lock_timeout(migrate, lambda _: None, patience_s=-1)


def test_other_errors_of_a_migration_are_raised_at_once():
    def migrate():
        raise OperationalError("the server has gone")

    with pytest.raises(OperationalError, match="gone"):
        retry_on_lock_timeout(migrate, lambda _: None)


@pytest.fixture
def index(db):
    created = models.Index(fields=("workspace", "ordinal"), name="chunk_tried")
    yield AddIndexBeside("chunk", created)
    with owner_connection() as owner:
        owner.execute("DROP INDEX IF EXISTS chunk_tried")


def build(operation):
    from django.db import connections

    state = LOADER.project_state(LOADER.graph.leaf_nodes("search"))
    after = state.clone()
    operation.state_forwards("search", after)
    with connections["owner"].schema_editor(atomic=False) as editor:
        operation.database_forwards("search", editor, state, after)


def is_valid(name):
    with connection.cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [name])
        return cursor.fetchone()


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_invalid_index_is_rebuilt(index):
    build(index)
    with owner_connection() as owner:
        owner.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'chunk_tried'::regclass")
    build(index)
    assert is_valid("chunk_tried") == (True,)
    build(index)  # a valid index is left unchanged
    assert Chunk._meta.db_table == "search_chunk"
