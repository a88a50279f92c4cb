"""Mirrors: each page in a file that is named after its URL.

``mirror``     pages as they came (outputMode mirror)
``paths``      the names that a URL may have; no disk
``incoming``   how a file gets into a mirror: temporary file, folders, rename

With rewriteLinks a mirror browses offline:

``browsable``  the output; refreshes a mirror of an earlier crawl
``catalog``    an SQLite file: which URL has which file, and how the page came
``naming``     which of its possible names a URL gets
``tree``       the files, by their paths
``originals``  the pages as they came, packed, as long as their links are rewritten
``relinking``  rewrites the links when the crawl ends; ``links`` makes relative references
"""
