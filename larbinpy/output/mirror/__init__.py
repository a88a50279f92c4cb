"""Mirrors: each page in a file that is named after its URL.

``mirror``     pages as received (outputMode mirror)
``paths``      the names that a URL may have, and relative links between them; no disk

With rewriteLinks a mirror browses offline:

``browsable``  the output: refreshes a mirror of an earlier crawl, and rewrites its links at the end
``catalog``    an SQLite file: which URL has which file, data about the page as received, and how
               each URL ended
``tree``       the files, by their paths; how a file gets there; rewritten pages as received
``gone``       which pages of a refreshed mirror are gone, and the removal of their files
"""
