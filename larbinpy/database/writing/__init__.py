"""The rules of writing, the same for all kinds of database.

batch       pages on their way into the tables: rows, copies, index, history
anchors     texts of links, by the page they lead to
scheduling  when pages are due, and the pages that are; dates in sitemaps and feeds
"""
