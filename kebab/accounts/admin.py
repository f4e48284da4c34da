"""Users in the Django admin, the only rows that it changes."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import BaseUserCreationForm
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import BooleanRadioFilter
from unfold.decorators import action
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from kebab.accounts.oidc import links_of
from kebab.accounts.sign_in import end_sessions
from kebab.admin.changelist import ListAdmin
from kebab.admin.site import site
from kebab.identity.models import User
from kebab.identity.models.user import normalize_email
from kebab.people import audit
from kebab.people.members import solely_owned_workspaces

_RIGHTS = ("is_staff", "is_superuser", "user_permissions")
# Form fields whose values before and after a change go into the audit log; no secrets.
_AUDITED_FIELDS = ("email", "display_name", "is_active", *_RIGHTS)


class _PersonCreationForm(UserCreationForm):
    class Meta(BaseUserCreationForm.Meta):  # type: ignore[name-defined]  # the stubs lack it
        model = User
        fields = ("email",)

    def clean_email(self) -> str:
        return normalize_email(self.cleaned_data["email"])


class _PersonChangeForm(UserChangeForm):
    def clean_email(self) -> str:
        return normalize_email(self.cleaned_data["email"])


@admin.register(User, site=site)
class PersonAdmin(ListAdmin, UserAdmin):  # type: ignore[misc, type-arg]  # the class itself is not generic, its form another
    """Users, who sign in with their address. None is deleted: audit events keep their name."""

    form, add_form, change_password_form = _PersonChangeForm, _PersonCreationForm, AdminPasswordChangeForm
    ordering = ("-id",)
    window_by = "id"
    figures = ((_("Users"), {}),)
    list_display = ("email", "display_name", "is_active", "is_staff", "last_login")
    search_fields = ("email__startswith",)
    search_help_text = "How an address begins"
    list_filter = (
        ("is_active", BooleanRadioFilter),
        ("is_staff", BooleanRadioFilter),
        ("is_superuser", BooleanRadioFilter),
    )
    fieldsets = (
        (None, {"fields": ("email", "password", "display_name")}),
        ("Rights here", {"fields": ("is_active", *_RIGHTS)}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "password1", "password2")}),)
    filter_horizontal = ("user_permissions",)
    actions_submit_line = ("unlink",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Let superusers alone grant rights: other staff could make themselves superusers."""
        always = ("last_login", "date_joined")
        return always if request.user.is_superuser else (*always, *_RIGHTS)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid staff to change other staff: by setting a password they would gain their rights."""
        has_rights = obj is not None and (obj.is_staff or obj.is_superuser)
        may_reach = request.user.is_superuser or not has_rights or obj == request.user
        return may_reach and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: a workspace could lose its owner. Deactivating a user ends their sessions instead."""
        return False

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:
        """Set a password and record it, in one transaction."""
        with transaction.atomic():
            return super().user_change_password(request, id, form_url)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save, and warn about workspaces that lose their last active owner."""
        super().save_model(request, obj, form, change)
        if change and "is_active" in form.changed_data and not obj.is_active:
            for workspace in solely_owned_workspaces(obj):
                names = {"workspace": workspace, "email": obj.email}
                warning = _("%(email)s is the only active owner of %(workspace)s.") % names
                messages.warning(request, warning)

    def get_actions_submit_line(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Return the button that unlinks an account, if it is linked and may be changed."""
        user = self.get_object(request, unquote(str(object_id)))
        is_offered = (
            user is not None and self.has_change_permission(request, user) and links_of(user).exists()
        )
        return super().get_actions_submit_line(request, object_id) if is_offered else []

    @action(description=_("Save, log out and unlink from the provider"))
    def unlink(self, request: HttpRequest, user: User) -> None:
        """Unlink an account from the OpenID Connect provider, and end its sessions."""
        links_of(user).delete()
        end_sessions(user)  # some may have started through the link
        _record(request, "account.unlinked", user)
        notice = _("%(email)s is logged out, and linked again at the next login at the provider.")
        messages.success(request, notice % {"email": user.email})

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> list[dict[str, Any]]:
        """Record an account's creation or change, with old and new values, and return Django's message."""
        if add:
            _record(request, "user.added", form.instance)
        elif form.changed_data:
            user = form.user if isinstance(form, AdminPasswordChangeForm) else form.instance
            _record(
                request, "user.changed", user, fields=sorted(form.changed_data), values=_changed_values(form)
            )
        notes: list[dict[str, Any]] = super().construct_change_message(request, form, formsets, add)
        return notes


def _record(request: HttpRequest, action: str, user: User, **detail: Any) -> None:
    """Record what the operator did to an account, under its address, since people choose their names."""
    operator: Any = request.user
    audit.record_person(operator.email, action, user.email, via="admin", id=str(user.pk), **detail)


def _changed_values(form: Any) -> list[dict[str, Any]]:
    before, after = form.initial, form.cleaned_data
    return [
        {"field": name, "before": _json_value(before[name]), "after": _json_value(after[name])}
        for name in form.changed_data
        if name in _AUDITED_FIELDS and name in before
    ]


def _json_value(value: Any) -> Any:
    """Return a form value as JSON; rows become their names."""
    if value is None or isinstance(value, bool | str):
        return value
    return sorted(map(str, value)) if isinstance(value, Iterable) else str(value)
