"""The same crawl by Scrapy in its own environment, with its manual's settings for broad crawls.

    python spider.py SEEDS RESULT CONCURRENT     (a file of URLs; a JSON file to write)

The spider obeys robots.txt, takes links from the LinkExtractor, does not wait, and saves nothing.
The manual's settings are: many requests at a time, the queue for broad crawls, no cookies, no
retries, a quieter log. Extensions without use here are off.
"""

import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor

_SETTINGS: dict[str, Any] = {
    "ROBOTSTXT_OBEY": True,
    "DOWNLOAD_DELAY": 0,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "MEMUSAGE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "LOGSTATS_INTERVAL": 0,
    "DOWNLOAD_TIMEOUT": 60,
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "USER_AGENT": "bench-scrapy/1",
}


class Spider(scrapy.Spider):
    name = "bench"
    seeds: tuple[str, ...] = ()
    pages = 0
    links = 0

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.seeds:
            yield scrapy.Request(url)

    def parse(self, response: Response, **_: object) -> Iterator[scrapy.Request]:
        if not isinstance(response, TextResponse):
            return
        self.pages += 1
        for link in _EXTRACTOR.extract_links(response):
            self.links += 1
            yield scrapy.Request(link.url)


_EXTRACTOR = LinkExtractor()


def main(seeds: Path, result: Path, concurrent: int) -> None:
    Spider.seeds = tuple(seeds.read_text().split())
    settings = {**_SETTINGS, "CONCURRENT_REQUESTS": concurrent}
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Spider)
    began, before = time.perf_counter(), getrusage(RUSAGE_SELF)
    process.crawl(crawler)
    process.start()
    seconds, after = time.perf_counter() - began, getrusage(RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    spider = crawler.spider
    assert isinstance(spider, Spider)
    found = {"pages": spider.pages, "links": spider.links, "scrapy": scrapy.__version__}
    result.write_text(json.dumps({**found, "seconds": seconds, "user": user, "system": system}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
