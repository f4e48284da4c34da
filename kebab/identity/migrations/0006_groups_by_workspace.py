"""What belongs to a group is found, and goes with it, by indexes that begin with the workspace."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("people", "0005_proved_email")]

    operations = [
        migrations.RemoveConstraint(model_name="groupmember", name="group_member_once"),
        migrations.AddConstraint(
            model_name="groupmember",
            constraint=models.UniqueConstraint(
                fields=("workspace", "group", "membership"), name="group_member_once"
            ),
        ),
        migrations.AddIndex(
            model_name="groupmember",
            index=models.Index(fields=["workspace", "membership"], name="group_member_by_membership"),
        ),
        migrations.AlterField(
            model_name="groupmember",
            name="group",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="members",
                to="people.group",
            ),
        ),
        migrations.AlterField(
            model_name="groupmember",
            name="membership",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="groups",
                to="people.membership",
            ),
        ),
        migrations.RemoveConstraint(model_name="tokengroup", name="token_group_once"),
        migrations.AddConstraint(
            model_name="tokengroup",
            constraint=models.UniqueConstraint(
                fields=("workspace", "group", "token"), name="token_group_once"
            ),
        ),
        migrations.AddIndex(
            model_name="tokengroup",
            index=models.Index(fields=["workspace", "token"], name="token_group_by_token"),
        ),
        migrations.AlterField(
            model_name="tokengroup",
            name="group",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="tokens",
                to="people.group",
            ),
        ),
        migrations.AlterField(
            model_name="tokengroup",
            name="token",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="groups",
                to="people.apitoken",
            ),
        ),
    ]
