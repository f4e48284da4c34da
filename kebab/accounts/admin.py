"""What operators do to accounts, in the Django admin, besides changing them."""

from django.http import HttpRequest

from kebab.accounts.oidc.adapters import links_of
from kebab.api.errors import Forbidden
from kebab.operating.acts import Act, note, offer
from kebab.operating.site import site
from kebab.people.models import User


def _unlink(request: HttpRequest, user: User) -> str:
    if not site.get_model_admin(User).has_change_permission(request, user):
        raise Forbidden("You may not change this account.")
    count, _ = links_of(user).delete()
    if not count:
        return f"{user.email} was not linked."
    note(request, "account.unlinked", user.email)
    return f"{user.email} is linked anew the next time the provider vouches for this address."


offer(
    User,
    Act(
        name="unlink",
        label="Unlink from the provider",
        icon="link_off",
        question="Forget who this is to the provider? Whoever it says has the address is linked next.",
        perform=_unlink,
        is_destructive=True,
        fits=lambda user: links_of(user).exists(),
    ),
)
