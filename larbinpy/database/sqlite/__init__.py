"""SQLite, one file: tables and an FTS5 index."""
