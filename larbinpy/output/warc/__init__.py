"""WARC files: requests, replies and name lookups as they were, for replay software.

``warc``     the output (outputMode warc)
``records``  the records of a page, as bytes
``series``   the files of a crawl: one grows, the others are complete
``cdxj``     the index of a file
"""
