"""Read-only views of a running crawl: snapshots, and the status of one URL.

snapshot     everything that the status page shows; what the crawl waits for, in a sentence
explain      the answer to `explain URL`, in steps, from the memory of the frontier and the log
report/      the report of what a crawl found, from its files; the search in its log
"""
