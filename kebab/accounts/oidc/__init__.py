"""Sign-in through the OpenID Connect provider of `KEBAB_OIDC_*`, by django-allauth.

allauth speaks the protocol and stores the links to accounts; passwords, sessions, limits and pages are
Kebab's own.
"""
