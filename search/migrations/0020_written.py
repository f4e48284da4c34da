"""Rows of vectors say which transaction wrote them; those that are there say nothing."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import migrations

from search.models.vector import PresentTransaction, TransactionNumber

_ADD = "ALTER TABLE search_chunkvector ADD COLUMN IF NOT EXISTS written xid8"
_DEFAULT = "ALTER TABLE search_chunkvector ALTER COLUMN written SET DEFAULT pg_current_xact_id()"


class Migration(migrations.Migration):
    dependencies = [("search", "0019_parts")]

    safe_because: ClassVar[Mapping[int, str]] = {
        0: "the column has no default while it is added, so that no row is touched; the default is for those"
        " that follow, whoever writes them"
    }

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL([_ADD, _DEFAULT], "ALTER TABLE search_chunkvector DROP COLUMN written")
            ],
            state_operations=[
                migrations.AddField(
                    model_name="chunkvector",
                    name="written",
                    field=TransactionNumber(db_default=PresentTransaction(), editable=False, null=True),
                )
            ],
        )
    ]
