"""Property tests are judged by what they find, not by how long a busy machine takes over one example."""

from hypothesis import settings

settings.register_profile("no_deadline", deadline=None)
settings.load_profile("no_deadline")
