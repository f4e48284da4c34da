"""The walls between workspaces in the database: keys that carry the workspace, and row-level security."""
