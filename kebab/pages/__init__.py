"""The shared parts of all pages: access control, frame, tabs, pagination, plots."""
