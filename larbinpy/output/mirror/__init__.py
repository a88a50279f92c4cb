"""Pages mirrored to disk under their host and path."""
