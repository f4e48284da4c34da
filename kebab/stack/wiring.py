"""The extension of the app `stack`."""

from kebab.extension import Extension
from kebab.stack.servers import server_metrics
from kebab.stack.storage.private_places import mark_own_folders

EXTENSION = Extension(
    init_steps=(("private folders", mark_own_folders),),
    collectors=server_metrics.COLLECTORS,
)
