"""The tables of new installations, in one step in place of the 8 before it, which upgrades take."""

import uuid

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import kebab.identity.models.user
from kebab.tenancy.keys import Reference, foreign_key, unique_in_workspace
from kebab.tenancy.policies import wall, wall_of_records

TENANTS = ("membership", "apitoken", "group", "groupmember", "tokengroup", "invitation")


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("people", "0001_initial"),
        ("people", "0002_groups"),
        ("people", "0003_row_level_security"),
        ("people", "0004_audit_indexes"),
        ("people", "0005_proved_email"),
        ("people", "0006_groups_by_workspace"),
        ("people", "0007_quota"),
        ("people", "0008_user_preferences"),
    ]

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                (
                    "date_joined",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined"),
                ),
                ("email", models.EmailField(max_length=254, unique=True, verbose_name="e-mail address")),
                ("display_name", models.CharField(blank=True, max_length=200)),
                ("proved_email", models.EmailField(blank=True, default="", editable=False, max_length=254)),
                ("language", models.CharField(blank=True, db_default="", default="", max_length=10)),
                ("time_zone", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("theme", models.CharField(blank=True, db_default="", default="", max_length=5)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
                "abstract": False,
                "indexes": [],
                "constraints": [],
            },
            managers=[
                ("objects", kebab.identity.models.user.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="Workspace",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "slug",
                    models.CharField(
                        max_length=63,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\Z",
                                "Use 1 to 63 lower-case letters, digits and inner hyphens.",
                                code="invalid_slug",
                            )
                        ],
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("corpus_id", models.UUIDField(default=uuid.uuid4, editable=False)),
                ("settings", models.JSONField(blank=True, default=dict)),
                (
                    "quota",
                    models.JSONField(
                        blank=True,
                        db_default=models.Value({}, models.JSONField()),
                        default=dict,
                        editable=False,
                    ),
                ),
                ("head_seq", models.BigIntegerField(default=0, editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ("slug",),
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("head_seq__gte", 0)), name="head_seq_positive")
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(blank=True, max_length=200)),
                ("prefix", models.CharField(editable=False, max_length=16, unique=True)),
                ("secret_sha256", models.BinaryField(max_length=32)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("search", "Search"),
                                ("ingest", "Ingest"),
                                ("manage", "Manage"),
                                ("ask", "Ask"),
                            ],
                            max_length=16,
                        ),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to="people.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ("created_at",),
                "indexes": [],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("scopes__contained_by", ["search", "ingest", "manage", "ask"])),
                        name="token_scopes_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("actor", models.CharField(max_length=320)),
                ("action", models.CharField(max_length=64)),
                ("subject", models.CharField(blank=True, max_length=500)),
                ("detail", models.JSONField(blank=True, default=dict)),
                ("address", models.GenericIPAddressField(blank=True, null=True)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="people.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ("-at",),
                "indexes": [
                    models.Index(fields=["workspace", "-at"], name="audit_by_workspace"),
                    models.Index(fields=["actor", "-at"], name="audit_by_actor"),
                    models.Index(fields=["-at"], name="audit_newest"),
                ],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="Group",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=100)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="groups",
                        to="people.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
                "indexes": [],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "name"), name="group_name_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("email", models.EmailField(max_length=254)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("admin", "Admin"),
                            ("editor", "Editor"),
                            ("viewer", "Viewer"),
                        ],
                        default="viewer",
                        max_length=10,
                    ),
                ),
                (
                    "group_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, default=list, size=None
                    ),
                ),
                ("secret_sha256", models.BinaryField(max_length=32, unique=True)),
                ("invited_by", models.CharField(max_length=320)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="people.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(fields=["workspace", "-created_at"], name="invitation_by_workspace"),
                    models.Index(fields=["email"], name="invitation_by_email"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "admin", "editor", "viewer"])),
                        name="invitation_role_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("admin", "Admin"),
                            ("editor", "Editor"),
                            ("viewer", "Viewer"),
                        ],
                        default="viewer",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="people.workspace",
                    ),
                ),
            ],
            options={
                "indexes": [],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "user"), name="membership_once"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "admin", "editor", "viewer"])),
                        name="membership_role_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GroupMember",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="members",
                        to="people.group",
                    ),
                ),
                (
                    "membership",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="groups",
                        to="people.membership",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="people.workspace",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["workspace", "membership"], name="group_member_by_membership")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "group", "membership"), name="group_member_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TokenGroup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="tokens",
                        to="people.group",
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="groups",
                        to="people.apitoken",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="people.workspace",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["workspace", "token"], name="token_group_by_token")],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "group", "token"), name="token_group_once")
                ],
            },
        ),
        *(unique_in_workspace(f"people_{name}") for name in ("group", "membership", "apitoken")),
        foreign_key(Reference("people_groupmember", ("workspace_id", "group_id"), "people_group")),
        foreign_key(Reference("people_groupmember", ("workspace_id", "membership_id"), "people_membership")),
        foreign_key(Reference("people_tokengroup", ("workspace_id", "group_id"), "people_group")),
        foreign_key(Reference("people_tokengroup", ("workspace_id", "token_id"), "people_apitoken")),
        wall("people_workspace", "id"),
        *(wall(f"people_{name}") for name in TENANTS),
        wall_of_records("people_auditevent"),
    ]
