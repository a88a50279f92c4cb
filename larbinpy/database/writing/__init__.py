"""The rules of writing, for each kind of database.

tables      the tables and the index, as these rules use them
filling     the work of a Writer: pages and their position in the spool, deferred work
batch       pages on their way into the tables: rows, copies, index
history     the changes of pages
presence    which rows a batch may find
leaving     when a page leaves the index
scheduling  when pages are due, and the pages that are
announcing  dates in sitemaps and feeds, judged by visits, which bring others forward
near        the page that another one is nearly a copy of
anchors     texts of links, by the page they lead to
samples     a page of each host, by which the others are compressed
stored      the tokens of a page again, to remove it from the index
deleted     pages whose rows a user has deleted
checking    trouble that shows in the tables
"""
