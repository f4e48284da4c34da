"""Row-level security: a statement meets the rows of the workspace that it acts in."""

from django.db import migrations

from kebab.tenancy.policies import wall, wall_of_records


class Migration(migrations.Migration):
    dependencies = [("people", "0002_groups")]

    operations = [
        wall("people_workspace", "id"),
        *(
            wall(f"people_{name}")
            for name in ("membership", "apitoken", "group", "groupmember", "tokengroup", "invitation")
        ),
        wall_of_records("people_auditevent"),
    ]
