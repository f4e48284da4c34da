"""What operators do to accounts, in the Django admin, besides changing them."""

from django.http import HttpRequest

from kebab.accounts.oidc.adapters import links_of
from kebab.accounts.sessions import end_sessions
from kebab.admin.actions import Act, note, offer
from kebab.people.models import User


def _unlink(request: HttpRequest, user: User) -> str:
    count, _ = links_of(user).delete()
    if not count:
        return f"{user.email} was not linked."
    end_sessions(user)  # they may have begun by the link
    note(request, "account.unlinked", user.email)
    return f"{user.email} is logged out, and linked anew the next time the provider vouches for this address."


offer(
    User,
    Act(
        name="unlink",
        label="Unlink from the provider",
        icon="link_off",
        question="Log this person out, and forget who they are to the provider? Whoever it says has the"
        " address is linked next.",
        perform=_unlink,
        is_destructive=True,
        fits=lambda user: links_of(user).exists(),
    ),
)
