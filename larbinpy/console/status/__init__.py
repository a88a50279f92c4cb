"""The status pages and metrics, rendered from a snapshot."""
