"""The report of what a crawl found, from the files in its state folder, while it runs or later.

log      reads the crawl log, with the files that were rotated away, and sums it up
broken   broken links, each with all pages that have it: broken, refused, known; missing parts
formats  the report for a terminal, as JSON, CSV and JUnit XML
"""
