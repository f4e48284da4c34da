"""The application's role owns nothing and bypasses nothing, and every tenant table has its policy."""

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from kebab.health import server_checks as checks
from kebab.health.checks import CheckStatus
from kebab.tenancy import roles
from kebab.tenancy.policies import wall
from kebab.tenancy.roles import OWNER, NotTheOwner, application_role, grant_to_application, owner_connection
from tests.security.tenancy.tenants import MODELS


def query(statement, *parameters):
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()


def test_application_role_is_without_special_rights(db):
    [found] = query(
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication"
        " FROM pg_roles WHERE rolname = current_user"
    )
    assert not any(found)


def test_application_role_owns_nothing_and_is_member_of_no_role(db):
    owned = "SELECT relname FROM pg_class WHERE pg_has_role(current_user, relowner, 'MEMBER')"
    assert query(owned) == []
    assert query("SELECT 1 FROM pg_auth_members WHERE member = current_user::regrole") == []


def test_every_table_with_a_workspace_column_has_a_policy_for_all_commands(db):
    tables = query(
        "SELECT DISTINCT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
        " WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace"
        " AND a.attname = 'workspace_id'"
    )
    known = {model._meta.db_table for model in MODELS}
    assert {name for (name,) in tables} == known - {"people_workspace"}
    assert checks.unprotected_tables() == []


def test_missing_policy_is_reported(db, monkeypatch):
    monkeypatch.setattr(checks, "_tables", lambda: ["people_user", "people_group"])
    found = checks.check_row_level_security()
    assert (found.status, found.remedy) == (CheckStatus.FAILED, "Run: kebab doctor --repair")
    assert "people_user" in found.detail


@pytest.mark.parametrize(
    "policy", ["USING (true)", "FOR INSERT WITH CHECK (true)", "USING (true) WITH CHECK (id IS NOT NULL)"]
)
def test_permissive_policy_is_reported(policy, transactional_db, monkeypatch):
    with owner_connection() as owner, owner.transaction(force_rollback=True):
        monkeypatch.setattr(checks, "connection", _Django(owner))
        owner.execute(f"CREATE POLICY by_hand ON people_group {policy}")

        assert checks.unprotected_tables() == ["people_group"]


def test_restrictive_policy_is_accepted(transactional_db, monkeypatch):
    with owner_connection() as owner, owner.transaction(force_rollback=True):
        monkeypatch.setattr(checks, "connection", _Django(owner))
        owner.execute("CREATE POLICY by_hand ON people_group AS RESTRICTIVE USING (name <> '')")

        assert checks.unprotected_tables() == []


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_application_may_call_its_functions():
    create_function = "CREATE FUNCTION kebab_of_tomorrow(number int) RETURNS int LANGUAGE sql RETURN number"
    with owner_connection() as owner:
        owner.execute(f"{create_function}; REVOKE EXECUTE ON FUNCTION kebab_of_tomorrow(int) FROM PUBLIC")
        try:
            grant_to_application()
            assert query("SELECT kebab_of_tomorrow(%s)", 5) == [(5,)]
        finally:
            owner.execute("DROP FUNCTION kebab_of_tomorrow(int)")


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_repeated_grants_never_give_further_rights(monkeypatch):
    execute_grant, may_change = roles._execute_grant, []

    def note_grant(cursor, grant):
        execute_grant(cursor, grant)
        may_change.append(query("SELECT has_table_privilege('people_auditevent', 'UPDATE, DELETE')")[0][0])

    monkeypatch.setattr(roles, "_execute_grant", note_grant)
    grant_to_application()

    assert len(may_change) > len(roles._GRANTS)
    assert not any(may_change)


def test_doctor_reports_row_level_security(db):
    assert checks.check_row_level_security().status is CheckStatus.OK


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE people_group DISABLE ROW LEVEL SECURITY",
        "DROP POLICY acting ON people_group",
        "SET row_security = off; SELECT 1 FROM people_group",
        "CREATE TABLE public.mine ()",
        "CREATE ROLE another",
        "INSERT INTO django_migrations (app, name, applied) VALUES ('people', 'x', now())",
        "SET ROLE kebab_owner",
    ],
)
def test_application_role_cannot_bypass_row_level_security(statement, db):
    refusal = pytest.raises(DatabaseError, match=r"permission denied|must be owner|row-level security policy")
    with refusal, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def test_policies_apply_to_an_owner_without_superuser_rights(db):
    assert query("SELECT bool_and(relforcerowsecurity) FROM pg_class WHERE relrowsecurity") == [(True,)]


@pytest.mark.parametrize(
    ("role", "status", "expected"),
    [("superuser", CheckStatus.FAILED, "passes every policy"), ("owner", CheckStatus.WARNING, "it owns")],
)
def test_single_role_for_owner_and_application_is_reported(
    role, status, expected, transactional_db, monkeypatch
):
    with owner_connection() as owner:
        monkeypatch.setattr(checks, "connection", _Django(owner))
        if role == "owner":
            owner.execute("CREATE ROLE plain_owner")
            owner.execute("GRANT kebab_owner TO plain_owner; SET ROLE plain_owner")
        try:
            found = checks.check_row_level_security()
        finally:
            owner.execute("RESET ROLE; DROP ROLE IF EXISTS plain_owner")
    assert found.status is status
    assert expected in found.detail
    assert "KEBAB_OWNER_DATABASE_URL" in found.remedy


def test_deployment_check_requires_two_roles(monkeypatch):
    assert checks.check_roles(None) == []
    monkeypatch.setitem(connections[OWNER].settings_dict, "USER", application_role())
    [warning] = checks.check_roles(None)
    assert "KEBAB_OWNER_DATABASE_URL" in warning.hint


def test_row_level_security_can_be_removed():
    operation = wall("some_table")
    assert "CREATE POLICY acting ON some_table" in operation.sql[0]
    assert operation.reverse_sql == [
        "ALTER TABLE some_table NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE some_table DISABLE ROW LEVEL SECURITY",
        "DROP POLICY acting ON some_table",
    ]


def test_doctor_names_the_roles_that_can_dump_the_database(transactional_db, settings):
    settings.KEBAB_EMBEDDED_POSTGRES = False
    found = checks.check_dump()
    owner = connections[OWNER].settings_dict["USER"]
    superusers = {name for (name,) in query("SELECT rolname FROM pg_roles WHERE rolsuper AND rolcanlogin")}
    assert found.status == CheckStatus.OK
    able, _, refused = found.detail.removeprefix("pg_dump works as ").partition(";")
    assert superusers <= set(able.split(", "))
    assert owner in (able if owner in superusers else refused)


def test_database_that_no_role_can_dump_is_warned_of(transactional_db, settings, monkeypatch):
    settings.KEBAB_EMBEDDED_POSTGRES = False
    monkeypatch.setattr(checks, "_DUMPERS", "SELECT rolname FROM pg_roles WHERE false")
    monkeypatch.setattr(checks, "owner_connection", _no_owner)
    assert checks.check_dump().status == CheckStatus.WARNING


def _no_owner():
    raise NotTheOwner("query would be affected by row-level security policy")


class _Django:
    """The parts of Django's connection that a check uses."""

    def __init__(self, owner):
        self.cursor = owner.cursor


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_tables_have_statistics_after_a_migration():
    newest = MigrationLoader(connection).graph.leaf_nodes("people")[0]
    MigrationRecorder(connections[OWNER]).record_unapplied(*newest)
    analyzed = "SELECT coalesce(max(last_analyze), '-infinity') FROM pg_stat_user_tables"
    before = query(analyzed)
    call_command("migrate", "people", fake=True, verbosity=0)
    assert query(analyzed) > before
    analyzed_once = query(analyzed)
    call_command("migrate", verbosity=0)
    assert query(analyzed) == analyzed_once
