"""Read-only views of a running crawl: snapshots, and where a URL stands."""
