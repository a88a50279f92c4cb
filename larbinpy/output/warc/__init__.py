"""Pages archived in WARC files."""
