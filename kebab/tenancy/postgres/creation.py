"""Test databases: made, migrated and dropped by the owner, and used by the application's role."""

from contextlib import AbstractContextManager
from typing import Any

from django.db import connections
from django.db.backends.postgresql import creation

from kebab.tenancy.roles import OWNER, grant_truncate


class DatabaseCreation(creation.DatabaseCreation):
    """Has the owner do what the application's role may not."""

    def create_test_db(self, *args: Any, **options: Any) -> str:
        """Make the database; tests may empty its tables between them."""
        owner = connections[OWNER]
        name = str(owner.creation.create_test_db(*args, **options))
        grant_truncate()
        owner.close()
        self.connection.close()
        self.connection.settings_dict["NAME"] = name
        return name

    def _nodb_cursor(self) -> AbstractContextManager[Any]:
        return connections[OWNER]._nodb_cursor()
