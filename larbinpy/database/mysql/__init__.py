"""The content database on a MariaDB or MySQL server.

server  a connection: option file, errors in one line, locks between processes
index   the full-text index: words as InnoDB takes them, MATCH ... AGAINST, BM25 from the words
tables  the tables; opens them to read, to write, or to care for them
"""
