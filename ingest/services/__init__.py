"""Use cases that every door calls; each change is recorded in the audit log."""
