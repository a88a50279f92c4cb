"""Mirrors: each page in a file that is named after its URL.

``mirror``     pages as received (outputMode mirror)
``paths``      the names that a URL may have; no disk
``incoming``   how a file gets into a mirror: temporary file, folders, rename

With rewriteLinks a mirror browses offline:

``browsable``  the output; refreshes a mirror of an earlier crawl
``catalog``    an SQLite file: which URL has which file, and data about the page as received
``naming``     which of its possible names a URL gets
``tree``       the files, by their paths
``originals``  rewritten pages as received, compressed
``gone``       which pages of a refreshed mirror are gone; ``removal`` removes their files
``relinking``  rewrites the links when the crawl ends; ``links`` makes relative references
"""
