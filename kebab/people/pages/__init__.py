"""Pages of members, groups, tokens, settings and the audit log."""
