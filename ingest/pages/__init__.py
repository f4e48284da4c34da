"""Pages of sources, uploads, jobs and the quarantine."""
