"""The time that rules take for a URL: a thousand mixed rules, a million different URLs.

    .venv/bin/python scripts/experiments/rules.py [URLS] [RULES]

Each URL is new, as links are that reach the rules in a crawl. Words, hosts and files are drawn by
Zipf's law, so that some rules match often and most rarely or never. Processor time, not time by
the clock. The second pass has the same URLs again, when the automata have all their states.
"""

import random
import resource
import sys
import time
from collections.abc import Iterator
from itertools import accumulate

from larbinpy.config.rule import Rule, parse_rule
from larbinpy.frontier.scope.rules import Rules

_WORDS = 5000
_HOSTS = 20_000


class Words:
    """Made-up words, hosts and URLs; the same for each run."""

    def __init__(self) -> None:
        self._random = random.Random(16)
        letters = "aabcdeeefghiiklmnooprsttuvw"
        self._words = [
            "".join(self._random.choices(letters, k=self._random.randrange(3, 11)))
            for _ in range(_WORDS)
        ]
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(_WORDS)))
        self._host_weights = list(accumulate(1 / (rank + 3) for rank in range(_HOSTS)))
        self._hosts = [self._host(number) for number in range(_HOSTS)]

    def _host(self, number: int) -> str:
        suffix = self._random.choice(("com", "org", "net", "de", "co.uk", "example"))
        prefix = self._random.choice(("", "", "www.", "docs.", "m."))
        return f"{prefix}{self._words[number % _WORDS]}{number // _WORDS}.{suffix}"

    def often(self) -> str:
        """A word that URLs have as often as its rank says."""
        return self._random.choices(self._words, cum_weights=self._weights)[0]

    def any(self) -> str:
        return self._random.choice(self._words)

    def host(self) -> str:
        return self._random.choice(self._hosts)

    def urls(self, count: int) -> Iterator[str]:
        pick = self._random
        hosts = pick.choices(self._hosts, cum_weights=self._host_weights, k=count)
        for number, host in enumerate(hosts):
            path = "/".join(self.often() for _ in range(pick.randrange(1, 6)))
            file = f"{self.often()}-{number}"
            ending = pick.choice(("", "/", ".html", ".html", ".php", ".jpg", ".pdf", ".zip"))
            query = f"?{self.often()}={number}&page={number % 9}" if pick.random() < 0.2 else ""
            yield f"http{'s' * (number % 2)}://{host}/{path}/{file}{ending}{query}"

    def rule(self) -> str:
        """One of the kinds of patterns that people write."""
        word, host = self.any(), self.host()
        kinds = {
            f"**/{word}/**": 25,
            f"*://{host}/{word}/**": 15,
            f"http*://{host}/**": 10,
            f"**/{word}*/{self.any()}*": 5,
            f"**.{word[:3]}": 5,
            f"/[?&]{word}=/": 8,
            f"/\\/{word}-[0-9]+\\.html$/": 4,
            f"/(?i){word}/": 3,
            f"host:{host}": 10,
            f"host:*.{host}": 2,
            f"domain:{'.'.join(host.removeprefix('www.').split('.')[-2:])}x": 3,
            f"**/{word}/** host:{host}": 3,
            f"**/{word}/** depth:>{len(word) // 2}": 2,
            f"**/{word}/** size:>{len(word)}M": 2,
            f"domain:{word}.org": 3,
        }
        return self._random.choices(list(kinds), list(kinds.values()))[0]


def measure(urls: int, rules: int) -> None:
    words = Words()
    lines: list[Rule] = []
    while len(lines) < rules:
        try:
            lines.append(parse_rule(len(lines) % 3 == 0, words.rule()))
        except ValueError:  # a domain that is a suffix
            continue
    made = Rules(lines)
    found = list(words.urls(urls))
    assert len(set(found)) == urls
    length = sum(map(len, found)) / urls
    print(f"{rules} rules, {urls} different URLs of {length:.0f} characters on average")
    for number in ("first", "second"):
        matched = 0
        began = time.process_time()
        decide = made.decide
        for url in found:
            matched += decide(url, 3, 0).rule is not None
        spent = time.process_time() - began
        print(
            f"{number} pass: {spent / urls * 1e6:.2f} us a URL, {matched / urls:.1%} decided, "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB"
        )


if __name__ == "__main__":
    measure(*[int(text) for text in (*sys.argv[1:], "1000000", "1000")[:2]])
