"""The quality gate for changes of settings, with trials of other chunk sizes."""
