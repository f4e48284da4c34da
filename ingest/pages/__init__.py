"""The pages of sources, uploads, jobs and the quarantine."""
