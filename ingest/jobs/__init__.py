"""Jobs: asked for, claimed under a lease, worked on behind a fence, swept up when a worker is lost."""
