"""The outputs of a crawl: pages on disk, the crawl log, the report.

``plug``      the interface of an output, and several outputs as one
``modes``     opens the outputs that outputMode names; `config.kinds` has a row for each
``save``      pages in numbered files, 2000 a folder, with an index; counts only
``mirror/``   pages under their host and path, and mirrors that browse offline
``warc/``     requests and replies in WARC files, each with an index
``database``  pages for full-text search, taken to a database by a process of its own
``log``       ``crawl.jsonl``, a line for each URL whose outcome is decided; the JSON object of
              ``--report``
``items``     what a plug emits, in a file that is a part of the saved state
``links``     ``links.bin``, the links of each page; ``check.txt``, what a link check finds in it

A full or read-only disk raises `OSError`; no output hides it. A file under its final name is
complete, also after a kill. Pages are not synced one by one but at each checkpoint
(`larbinpy.storage.syncing`), so a power cut may leave pages incomplete that were written since
the last checkpoint; a resumed crawl fetches those again.
"""

from larbinpy.output.plug import Output

__all__ = ["Output"]
