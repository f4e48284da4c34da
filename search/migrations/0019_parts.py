"""What the owner does for the application, also where tables are cut into parts."""

from django.db import migrations

FORMER_DROP_INDEX = """
CREATE OR REPLACE FUNCTION kebab_drop_vector_index(space_id bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    EXECUTE format('DROP INDEX IF EXISTS public.vector_hnsw_%s', space_id);
END $$
"""
# A schema that isn't there is skipped with a notice, too.
DROP_INDEX = """
CREATE OR REPLACE FUNCTION kebab_drop_vector_index(space_id bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    EXECUTE format('DROP INDEX IF EXISTS public.vector_hnsw_%1$s, kebab_parts.vector_hnsw_%1$s', space_id);
END $$
"""
FORMER_ANALYZE = """
CREATE OR REPLACE FUNCTION kebab_analyze(tables regclass[]) RETURNS void
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
# Those tables, and their parts.
ANALYZE = """
CREATE OR REPLACE FUNCTION kebab_analyze(tables regclass[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE counted regclass;
BEGIN
    FOR counted IN SELECT oid FROM pg_class WHERE oid = ANY (tables)
        AND coalesce(pg_partition_root(oid), oid) IN
            ('search_document'::regclass, 'search_chunk'::regclass, 'search_chunkvector'::regclass)
    LOOP
        EXECUTE format('ANALYZE %s', counted);
    END LOOP;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("search", "0018_asked_queries")]

    operations = [
        migrations.RunSQL(DROP_INDEX, FORMER_DROP_INDEX),
        migrations.RunSQL(ANALYZE, FORMER_ANALYZE),
    ]
