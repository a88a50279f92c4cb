"""The web of the benchmarks: hosts of equal size with real pages but changed links and words.

A host is an address of 127.0.0.0/8, with a name if the web uses TLS. Paths, links and every
eighth word depend only on the numbers of host and page. They differ on every page, so a program
gains nothing by caching, and two builds are the same. Page 0 is the start page. Page n links to
pages 4n + 1 to 4n + 4, so all pages are reached. Its other links go to pages of its host and,
one in ten, to other hosts of its group. No link leads out of a group, so some groups alone are
a smaller web. In pages that were cut out of a deeper site, some references lead above the root,
where browsers stay at the root.

The start page also links to a page that robots.txt disallows.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from benchmarks.template import Slot, Template

PORT, TLS_PORT, HANG_PORT = 18500, 18501, 18502
DOMAIN = "bench.test"
#: Children of a page in the tree of links that reaches all pages.
CHILDREN = 4
#: Anchors that a page needs: for its children and, on the start page, the disallowed page.
ANCHORS = CHILDREN + 1
_TO_OTHERS = 0.1
_ABOVE = b"../" * 4
_FOLDERS = 6
_CLOSED = "closed"
ROBOTS = f"""User-agent: *
Disallow: /{_CLOSED}/
Disallow: /*/print-

User-agent: greedy
Disallow: /
"""


@dataclass(frozen=True)
class Web:
    """A web of any number of hosts."""

    #: Pages of a host.
    pages: int
    #: Their mean bytes.
    size: int
    #: Hosts of a group.
    group: int
    tls: bool = False
    #: References of a page that lead above the root, as `../../../../a.js`.
    above: int = 0

    @property
    def port(self) -> int:
        return TLS_PORT if self.tls else PORT

    def host(self, number: int) -> str:
        """The host in URLs, and the folder of its files."""
        return f"h{number}.{DOMAIN}" if self.tls else address(number)

    def base(self, number: int) -> str:
        """The URL of the start page."""
        return f"http{'s' * self.tls}://{self.host(number)}:{self.port}/"

    def closed(self, hosts: int) -> int:
        """`hosts` rounded up to whole groups, so that no link leads out of the web."""
        return -(-hosts // self.group) * self.group


def address(number: int) -> str:
    """The address of a host."""
    third, fourth = divmod(number, 250)
    second, third = divmod(third, 250)
    return f"127.{10 + second}.{third}.{fourth + 1}"


def number_of(name: str) -> int | None:
    """The number of the host with this name; None if there is none."""
    label, _, domain = name.lower().partition(".")
    known = domain == DOMAIN and label[:1] == "h" and label[1:].isdecimal()
    return int(label[1:]) if known else None


@dataclass
class Author:
    """Writes the pages of a web."""

    web: Web
    templates: Sequence[Template]
    _vocabulary: list[bytes] = field(init=False)

    def __post_init__(self) -> None:
        words = {word for template in self.templates for word in template.words}
        self._vocabulary = sorted(words)
        # Holds the paths of the group that is being written.
        self._paths = lru_cache(maxsize=self.web.group + 1)(self._make_paths)

    def paths(self, host: int) -> list[str]:
        """The paths of a host's pages in order, without the leading slash."""
        return self._paths(host)

    def urls(self, host: int) -> list[str]:
        base = self.web.base(host)
        return [base + path for path in self.paths(host)]

    def page(self, host: int, number: int) -> bytes:
        rng = random.Random(f"{host} {number}")
        template = self._template(host, number)
        count = template.count
        anchors = self._anchors(rng, host, number, count(Slot.ANCHOR))
        others = self._links(rng, host, number, count(Slot.OTHER))
        for n in range(min(self.web.above, len(others))):
            others[n] = _ABOVE + rng.choice(self.paths(host)).encode()
        words = rng.choices(self._vocabulary, k=count(Slot.WORD)) if self._vocabulary else ()
        return template.fill(anchors, others, words)

    def _template(self, host: int, number: int) -> Template:
        return self.templates[(number + host * 7) % len(self.templates)]

    def _make_paths(self, host: int) -> list[str]:
        rng = random.Random(f"paths {host}")
        words = [word.decode() for word in self._vocabulary] or ["folder"]
        folders = [f"{rng.choice(words)}-{n}" for n in range(_FOLDERS)]
        stems = (self._template(host, n).stem for n in range(1, self.web.pages))
        names = (f"{stem}-{n}-{rng.randrange(1 << 20):x}" for n, stem in enumerate(stems, 1))
        return ["", *(f"{rng.choice(folders)}/{name}.html" for name in names)]

    def _anchors(self, rng: random.Random, host: int, number: int, count: int) -> list[bytes]:
        """Links to the children, the disallowed page and others, shuffled."""
        paths = self.paths(host)
        first = CHILDREN * number + 1
        wanted = [_reference(paths[number], path) for path in paths[first : first + CHILDREN]]
        if number == 0:
            wanted.append(f"{_CLOSED}/{rng.randrange(1 << 20):x}.html".encode())
        assert len(wanted) <= count
        links = wanted + self._links(rng, host, number, count - len(wanted))
        rng.shuffle(links)
        return links

    def _links(self, rng: random.Random, host: int, number: int, count: int) -> list[bytes]:
        own = self.paths(host)
        here = own[number]
        group = host - host % self.web.group
        links = []
        for _ in range(count):
            if rng.random() < _TO_OTHERS:
                other = group + rng.randrange(self.web.group)
                links.append((self.web.base(other) + rng.choice(self.paths(other))).encode())
            else:
                links.append(_reference(here, rng.choice(own)))
        return links


def _reference(here: str, there: str) -> bytes:
    """A relative reference from one path to another."""
    folder, slash, _ = here.partition("/")
    if not slash:
        return (there or "./").encode()
    near = there.startswith(folder + "/")
    return (there.removeprefix(folder + "/") if near else "../" + there).encode()


def choose(sizes: Sequence[int], count: int, mean: int) -> Iterator[int]:
    """Indices of at most `count` pages with a mean size as near to `mean` as possible.

    Their sizes are spread evenly from a third of `mean` up to the bound that gives this mean.
    """
    order = sorted((size, index) for index, size in enumerate(sizes) if size >= mean // 3)
    bound, total = 0, 0
    while bound < len(order) and total <= mean * bound:
        total += order[bound][0]
        bound += 1
    step = max(1.0, bound / count)
    for n in range(min(count, bound)):
        yield order[int(n * step)][1]
