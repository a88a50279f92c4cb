"""Read-only views of a running crawl: snapshots, and the status of one URL.

snapshot     everything that the status page shows; site_tables: its tables of sites
waiting      what the crawl waits for, in a sentence
explain      the answer to `explain URL`, in steps
url_status   the status of a URL, from the memory of the frontier
report/      the report of what a crawl found, from its files
log_search   the last line of the crawl log about a URL
"""
