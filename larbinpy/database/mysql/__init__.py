"""The content database on a MariaDB or MySQL server.

server    a connection: address, option file, errors in one line, tables, locks between processes
index     the full-text index: words as InnoDB takes them, MATCH ... AGAINST, BM25 from the words
finder, writer, maintenance: as in sqlite/
"""
