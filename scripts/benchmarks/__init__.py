"""Benchmarks: time and memory of larbinpy beside other crawlers and bare loops: scripts/bench.

    corpora                    the documentations whose pages are used
    template, web, building    a web of real pages with changed links and words, as files
    serving, names             nginx and a name server for it
    scenarios                  the list of measurements; crawling runs the crawls, special the rest
    programs                   crawlers: larbinpy, wget2, Scrapy (spider), the floors (floor)
    sampled, hanging           processes for profiles and hanging transfers
    reading, micro             processes that read pages and take single steps
    plans                      their input
    ratios                     promised ratios, and the comparison with a baseline

All traffic stays on loopback. The package `experiments` has other measurements.
"""
