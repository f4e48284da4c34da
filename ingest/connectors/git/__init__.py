"""Git repositories as sources, read through the `git` command and never checked out."""
