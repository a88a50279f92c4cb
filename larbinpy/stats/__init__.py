"""Counters of a running crawl: totals, histories, histograms, and the process's own usage."""
