"""New installations, which take the squashed migrations, get the same schema as upgraded ones."""

from contextlib import contextmanager

import pytest
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from kebab.tenancy.roles import OWNER

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True, databases=["default", "owner"])]

_DATABASE = "kebab_stepwise"
_SCHEMA = {
    "columns": """
        SELECT table_name, column_name, data_type, udt_name, character_maximum_length, is_nullable,
            column_default, collation_name, identity_generation, generation_expression
        FROM information_schema.columns WHERE table_schema = 'public'
    """,
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    """,
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "policies": "SELECT tablename, policyname, permissive, roles, cmd, qual, with_check FROM pg_policies",
    "walls": """
        SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
    """,
    "functions": "SELECT proname, prosrc, prosecdef, proconfig FROM pg_proc WHERE proname LIKE 'kebab%'",
    "public": """
        SELECT proname FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
        WHERE proname LIKE 'kebab%' AND grantee = 0
    """,
    "triggers": "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
}


def schema_of(connection):
    """Return what there is in a database, regardless of the order of columns."""
    with connection.cursor() as cursor:
        found = {}
        for name, query in _SCHEMA.items():
            cursor.execute(query)
            found[name] = sorted(map(str, cursor.fetchall()))
        return found


@contextmanager
def in_empty_database(monkeypatch):
    """Lead the owner's connection to an empty database beside the tests' own."""
    owner = connections[OWNER]
    with owner.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {_DATABASE}")
        cursor.execute(f"CREATE DATABASE {_DATABASE} TEMPLATE template0")
    owner.close()
    with monkeypatch.context() as patch:
        patch.setitem(owner.settings_dict, "NAME", _DATABASE)
        yield owner
        owner.close()
    with owner.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {_DATABASE}")


def test_squashed_migrations_create_the_schema_of_an_upgraded_installation(monkeypatch):
    squashed = schema_of(connections[OWNER])
    with in_empty_database(monkeypatch) as owner:
        executor = MigrationExecutor(owner)
        executor.loader = MigrationLoader(owner, replace_migrations=False)
        leaves = executor.loader.graph.leaf_nodes()
        executor.migrate([key for key in leaves if not executor.loader.graph.nodes[key].replaces])
        assert schema_of(owner) == squashed
