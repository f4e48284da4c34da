"""A person who signs in with an e-mail address."""

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.db import models, transaction


def normalize_email(email: str) -> str:
    """Return an e-mail address in the form in which it is stored and compared."""
    return email.strip().lower()


class UserManager(BaseUserManager["User"]):
    """Creates users by e-mail address; addresses are compared in lower case."""

    use_in_migrations = True

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create an active user. Raises ValueError without an address."""
        if not email:
            raise ValueError("A user needs an e-mail address.")
        user = self.model(email=normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create an operator, who may open the Django admin with all workspaces."""
        user = self.create_user(email, password, is_staff=True, is_superuser=True, **fields)
        user.prove_email()  # whoever creates an operator vouches for the address
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the user who signs in as `username`, ignoring case."""
        return self.with_address(username or "").get()

    def with_address(self, email: str) -> "models.QuerySet[User]":
        """Return the user with this address, ignoring case; none or one."""
        return self.filter(email=normalize_email(email))


class User(AbstractUser):
    """A person, whose rights follow from their memberships."""

    username = None  # type: ignore[assignment]  # the address is the name
    email = models.EmailField("e-mail address", unique=True)
    display_name = models.CharField(max_length=200, blank=True)
    # The address that this person has proved to own; `email` may differ, and belong to somebody else.
    proved_email = models.EmailField(blank=True, default="", editable=False)

    # As pages are shown to this person; empty: as the browser and its system have it.
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    time_zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    theme = models.CharField(max_length=5, blank=True, default="", db_default="")

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects: ClassVar[UserManager] = UserManager()  # type: ignore[assignment]  # creates users without names

    def save(self, *args: Any, **options: Any) -> None:
        """Save in one transaction with the rows that signal handlers write."""
        with transaction.atomic():
            super().save(*args, **options)

    def __str__(self) -> str:
        return self.display_name or self.email

    @property
    def has_proved_email(self) -> bool:
        """Return whether this person has proved to receive the mail of their address."""
        return self.proved_email == self.email

    def prove_email(self) -> None:
        """Store that this person has proved to own their address."""
        self.proved_email = self.email
        self.save(update_fields=["proved_email"])
