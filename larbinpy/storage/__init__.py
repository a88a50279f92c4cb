"""The state of a crawl: queues of URLs, the set of URLs seen, and the checkpoints of both.

    queues      the queues of URLs: ordinary and priority, and those set aside by site
    blocks      lines of URLs in files that only grow, and a bit for each that is still needed
    seen        the set of URLs seen, the log of its fingerprints and images of their table on disk
    fingerprint_table   the same fingerprints in memory
    site_counts pages and bytes of each site, for the limits by site
    sizes       how large blocks, files, tables and images are, and what is done in one turn
    state       the interface of all saved parts of a crawl, the manifest that commits them, and
                the schedule of checkpoints
    syncing     flushes the files of the outputs to the disk without blocking the loop
    spool       pages on their way to the content database
    deflate     compression in the formats of zlib
    files       files that are complete or absent; files to which lines are appended
    caches      a Bloom filter; a budget for cached things

larbinpy has file formats of its own instead of SQLite or LMDB, for reasons that were measured:
All three got the same URLs under the same sequencer, with a durable checkpoint in the loop after
every 125,000 new URLs (five seconds at 1,000 pages a second). SQLite has a write-ahead log, a cache
of 256 MB and a table without rowids; LMDB keeps the fingerprints packed. Medians of three rounds:

                                                 larbinpy   SQLite     LMDB
    queues, 4 million URLs: put, us of CPU           0.52     1.19     0.87
      taken, us of CPU (with the sequencer)          3.68     4.68     3.98
      longest turn, checkpoints included, ms           14       50       42
      bytes written to the disk for each URL          113      273      184
      reopened, ms                                     85      102       25
    seen, 1 million: a check, us of CPU              0.52     0.95     0.71
      longest turn, ms                                  4       30        9
    seen, 10 million: a check, us of CPU             0.59     2.51     1.43
      longest turn, ms                                 10      267      111
      bytes written to the disk for each URL           76    1,157      582
      bytes in memory, on disk                     15, 26   16, 29   49, 37
      reopened, ms                                    781        1        1

The queues do not decide the choice: SQLite would add 25 us to a page with 25 new links, and a page
costs 760 us. The set of URLs seen does. Fingerprints are random, so nearly every page of a B-tree
changes between two checkpoints, and 4 kB are written for each. At ten million URLs a checkpoint of
SQLite writes 145 MB and stops the loop for a quarter of a second (LMDB: 73 MB, 0.1 s), and the
checks of 100 links cost 285 us instead of 60 (LMDB: 147). Here a checkpoint appends eight bytes for
each new URL and the table is written a little at a time: 10 MB, and no turn above 14 ms.

Up to about a million URLs SQLite or LMDB would be good enough: no turn above 50 ms, and 9 % or 4 %
more CPU for a page; at ten million they are not. Both reopen at once, whereas seen reads its table
again. Both can outgrow the memory, whereas seen takes 1.5 GB for 100 million URLs. SQLite would
also save code: some 320 lines instead of 1,560, without priorities, search and checksums.
"""
