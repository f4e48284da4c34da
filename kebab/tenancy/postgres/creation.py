"""Test databases: created, migrated and dropped by the owner, and used by the application's role."""

from contextlib import AbstractContextManager
from typing import Any

from django.db import connections
from django.db.backends.postgresql import creation

from kebab.tenancy.roles import OWNER, grant_truncate


class DatabaseCreation(creation.DatabaseCreation):
    """Creates and drops test databases as the owner."""

    def create_test_db(self, *args: Any, **options: Any) -> str:
        """Create the database, with the right to truncate its tables between tests."""
        owner = connections[OWNER]
        name = str(owner.creation.create_test_db(*args, **options))
        grant_truncate()
        owner.close()
        self.connection.close()
        self.connection.settings_dict["NAME"] = name
        return name

    def _nodb_cursor(self) -> AbstractContextManager[Any]:
        return connections[OWNER]._nodb_cursor()
