"""Pages that earlier crawls and other programs left on the disk, as a database takes them.

found    the sources in files and folders that the user names
source   the interface of a source
warc     WARC files; payloads: where each payload is, for records that refer to one
mirror   mirrors of HOST/path; names: the URL of a path
browsable  mirrors that browse offline, by their catalog
saved    the numbered files of save mode
file     the page in a file, and its media type
"""
