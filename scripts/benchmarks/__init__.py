"""What a page costs larbinpy, beside other crawlers and beside what it must cost: scripts/bench.

    template, web, building    a web of real pages with other links and words, as files
    serving, names             nginx and a name server for it
    scenarios                  what is measured: crawling runs it, special what is no crawl
    programs                   who crawls: larbinpy, wget2, Scrapy (spider), the floors (floor)
    sampled, hanging, micro    processes for profiles, transfers that hang, and single steps
    plans                      what those are told
    ratios                     what is promised, and what a run is compared with

All traffic stays on loopback. `experiments` has what is measured beyond that.
"""
