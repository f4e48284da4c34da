"""Row-level security for kept answers; those of no workspace are told apart by their caller."""

from django.db import migrations

from kebab.tenancy.policies import wall


class Migration(migrations.Migration):
    dependencies = [("api", "0001_initial")]

    operations = [wall("api_idempotencykey", shows_unowned=True)]
