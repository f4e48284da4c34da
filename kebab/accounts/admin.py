"""Admin actions on accounts: unlink a user from the OpenID Connect provider."""

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kebab.accounts.oidc.adapters import links_of
from kebab.accounts.sessions import end_sessions
from kebab.admin.actions import RowAction, record_admin_action, register_actions
from kebab.people.models import User


def _unlink(request: HttpRequest, user: User) -> str:
    count, _ = links_of(user).delete()
    if not count:
        return f"{user.email} was not linked."
    end_sessions(user)  # some may have started through the link
    record_admin_action(request, "account.unlinked", user.email)
    return f"{user.email} is logged out, and linked anew the next time the provider vouches for this address."


register_actions(
    User,
    RowAction(
        name="unlink",
        label=_("Unlink from the provider"),
        icon="link_off",
        question=_(
            "Log this person out and unlink the account from the provider? It is linked again to whoever next"
            " logs in there with this address."
        ),
        perform=_unlink,
        is_destructive=True,
        fits=lambda user: links_of(user).exists(),
    ),
)
