"""The content database in one file of SQLite: tables and an FTS5 index.

schema       the tables; opens a file, and says in one line why it cannot; one process writes
writer       the Writer
index        the full-text index: its pages for `database.ranking`, and writing it
finder       the Finder
maintenance  verify, rebuild, optimize; salvage: what can be read of a damaged file
"""
