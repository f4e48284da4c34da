"""How passwords are hashed."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class ArgonHasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB, two passes, one lane: OWASP's first choice (Password Storage Cheat Sheet, 2024).

    Django's 100 MiB in eight lanes would let sixteen people who sign in at once take 1.6 GB and all cores.
    """

    time_cost = 2
    memory_cost = 19_456
    parallelism = 1
