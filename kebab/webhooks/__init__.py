"""Webhooks: events of a workspace, sent to addresses that its admins have named."""
