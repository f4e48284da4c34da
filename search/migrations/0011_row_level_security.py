"""Row-level security, and what the application's role has the owner of the tables do for it."""

from django.db import migrations

from kebab.tenancy.policies import wall

# Within a transaction that deletes the rows: what only a table's owner may do.
DROP_INDEX = """
CREATE FUNCTION kebab_drop_vector_index(space_id bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    EXECUTE format('DROP INDEX IF EXISTS public.vector_hnsw_%s', space_id);
END $$
"""
ANALYZE = """
CREATE FUNCTION kebab_analyze(tables regclass[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE name text;
BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE oid = ANY (tables)
        AND relname IN ('search_document', 'search_chunk', 'search_chunkvector')
    LOOP
        EXECUTE format('ANALYZE public.%I', name);
    END LOOP;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("search", "0010_source_readers"), ("people", "0003_row_level_security")]

    operations = [
        *(
            wall(f"search_{name}")
            for name in (
                "change",
                "chunk",
                "chunkvector",
                "document",
                "embeddingspace",
                "source",
                "sourcereader",
                "sourceversion",
            )
        ),
        migrations.RunSQL(DROP_INDEX, "DROP FUNCTION kebab_drop_vector_index(bigint)"),
        migrations.RunSQL(ANALYZE, "DROP FUNCTION kebab_analyze(regclass[])"),
        migrations.RunSQL(
            "REVOKE EXECUTE ON FUNCTION kebab_drop_vector_index(bigint), kebab_analyze(regclass[]) FROM PUBLIC",
            migrations.RunSQL.noop,
        ),
    ]
