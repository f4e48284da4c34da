"""The pages of people: who belongs to a workspace, groups, tokens, settings, what was done there."""
