"""Pages that earlier crawls and other programs left on the disk, as a database takes them.

file     the interface of a source; a page in a file, the numbered files of save mode
mirror   mirrors of HOST/path and mirrors that browse offline; finds what the user names
warc     WARC files
"""
