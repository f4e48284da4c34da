"""The connector of git repositories, which are read through the `git` command and never checked out."""
