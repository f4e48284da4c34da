"""Paths of webhooks, which may be secrets, leave the audit events that were written with them."""

from django.db import migrations

MASK = r"""
UPDATE people_auditevent SET subject = regexp_replace(subject, '^([a-z]+://[^/?#]*)[/?#].*$', '\1/…')
WHERE action LIKE 'webhook.%'
"""


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial")]

    operations = [migrations.RunSQL(MASK, migrations.RunSQL.noop)]
