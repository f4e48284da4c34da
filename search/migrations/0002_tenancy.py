"""Primary keys and references that carry the workspace: a row can't point into another one."""

from django.db import migrations

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key

TENANT = ("workspace_id",)


class Migration(migrations.Migration):
    dependencies = [("search", "0001_initial"), ("people", "0001_initial")]

    operations = [
        *(
            composite_primary_key(table)
            for table in ("search_source", "search_sourceversion", "search_document", "search_embeddingspace")
        ),
        *(
            foreign_key(Reference(table, TENANT, "people_workspace", ("id",)))
            for table in ("search_source", "search_embeddingspace", "search_change")
        ),
        foreign_key(Reference("search_sourceversion", (*TENANT, "source_id"), "search_source")),
        foreign_key(Reference("search_document", (*TENANT, "source_id"), "search_source")),
        foreign_key(Reference("search_document", (*TENANT, "version_id"), "search_sourceversion")),
        foreign_key(Reference("search_chunk", (*TENANT, "document_id"), "search_document")),
        foreign_key(
            Reference(
                "search_chunkvector", (*TENANT, "chunk_id"), "search_chunk", ("workspace_id", "chunk_id")
            )
        ),
        foreign_key(Reference("search_chunkvector", (*TENANT, "space_id"), "search_embeddingspace")),
    ]
