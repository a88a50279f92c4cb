"""The content database on a MariaDB or MySQL server.

address   what mysql://[USER@]HOST[:PORT]/NAME says
server    a connection: option file, errors in one line, the SQL of the shared rules
schema    the tables
locks     by which processes write in turns
words     tokens as InnoDB's full-text index takes them, and the words of a page
match     conditions as expressions of MATCH ... AGAINST
ranking   the score of BM25 from the words of a page
index, finder, fulltext, writer, maintenance: as in sqlite/
"""
