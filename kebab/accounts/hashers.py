"""Password hashing: Argon2id with OWASP's parameters."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class ArgonHasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB, two passes, one lane: OWASP's first choice (Password Storage Cheat Sheet, 2024).

    With Django's 100 MiB in eight lanes, sixteen simultaneous sign-ins would take 1.6 GB and all cores.
    """

    time_cost = 2
    memory_cost = 19_456
    parallelism = 1
