"""The rules of writing, for each kind of database.

filling     the work of a Writer: pages and their position in the spool, deferred work, checks
batch       pages on their way into the tables: rows, copies, index, history
anchors     texts of links, by the page they lead to
scheduling  when pages are due, and the pages that are; dates in sitemaps and feeds
"""
