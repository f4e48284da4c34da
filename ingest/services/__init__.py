"""Use cases shared by API, pages and commands; each change is recorded in the audit log."""
