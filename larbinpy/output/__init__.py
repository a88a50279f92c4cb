"""What a crawl leaves behind: pages on disk, the crawl log, the report.

``plug``    the four-function plug, and several of them as one
``save``    pages in numbered files, 2000 a folder, with an index
``mirror``  pages under their host and path; ``paths`` decides the names, without a disk
``warc``    all that was asked and answered, as WARC files: ``records`` makes them of pages,
            ``series`` has the files, ``cdxj`` the index of each
``browsable``  the same for reading offline: its ``catalog`` knows which URL has which file,
            which ``naming`` decides; ``tree`` are its files, ``originals`` those as they came;
            ``relinking`` rewrites them in the end, ``links`` leads from one to another
``stats``   counts only
``log``     ``crawl.jsonl``, a line for each URL whose fate is decided
``report``  the JSON object of ``--report``

A full or read-only disk is an `OSError` that nobody here swallows. Whatever is on disk
under its final name is complete, then and after a kill. Pages are not synced one by one but
at each checkpoint (`larbinpy.storage.syncing`), so a power cut may leave those incomplete that came
since the last; a crawl that goes on gets them again.
"""

from larbinpy.output.plug import Output

__all__ = ["Output"]
