"""Read-only views of a running crawl: snapshots, and the status of one URL.

snapshot     everything that the status page shows; what the crawl waits for, in a sentence
explain      the answer to `explain URL`, in steps, from the memory of the frontier and the log
log_search   the last line of the crawl log about a URL, also in rotated files
report/      the report of what a crawl found, from its files
"""
