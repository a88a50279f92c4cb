"""The report of what a crawl found, from the files in its state folder, while it runs or later.

log_files    reads the crawl log, with the files that were rotated away
log_summary  what one pass over the log gathers: failures, redirects, sites, the slowest pages
pages        numbers and URLs of pages, in little memory
broken       broken links, each with all pages that have it
text         the report for a terminal
formats      the report as JSON and CSV
"""
