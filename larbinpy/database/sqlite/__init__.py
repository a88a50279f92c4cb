"""The content database in one file of SQLite: tables and an FTS5 index.

index  the full-text index: its pages for `database.ranking`, and writing it
file   the tables, and the lock of the one that writes; opens a file to read, to write, or to
       care for it, and says in one line why it cannot
"""
