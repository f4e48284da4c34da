"""The folder watcher: a change in a folder requests its sync; the watcher writes nothing else."""
