"""WARC files: requests, replies and name lookups as they were, for replay software.

``warc``     the output (outputMode warc), and its files: one grows, the others are complete
``records``  the records of a page, as bytes, and their lines in the index
``wacz``     packs archives into one file (outputMode wacz, larbinpy pack)
"""
