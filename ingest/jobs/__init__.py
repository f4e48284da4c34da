"""Jobs: requested, claimed under a lease, run behind a fence, recovered by a sweep if a worker is lost."""
