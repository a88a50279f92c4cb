"""The content database in one file of SQLite: tables and an FTS5 index.

schema       the tables; opens a file, and says in one line why it cannot
lock         one process writes
writer       the Writer
fulltext     writes the index
finder       the Finder
index        the pages that match conditions, for `database.ranking`
match        conditions as expressions of FTS5
maintenance  verify, rebuild, optimize
salvage      what can be read of a damaged file
"""
