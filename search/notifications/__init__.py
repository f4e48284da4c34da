"""Notifications about what a workspace holds: events for webhooks, saved searches, feeds and alerts."""
