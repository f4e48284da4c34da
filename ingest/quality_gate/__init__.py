"""The quality gate for changes of settings."""
