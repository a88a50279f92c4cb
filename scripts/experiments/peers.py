"""Other resolvers of Python as programs that resolve the names of a file.

    python -m experiments.peers dnspython|aiodns FILE PORT PARALLEL

PARALLEL tasks take the names in turn and wait for each answer, as the manuals of the libraries
do. Standard output gets a name and its address a line. The last line on standard error is JSON:
names, failed, and the seconds from the first question to the last answer.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator

import aiodns
import dns.asyncresolver
import dns.exception
import pycares

Ask = Callable[[str], Awaitable[str]]
LONGEST = 10.0


def dnspython(port: int) -> Ask:
    """`dns.asyncresolver`, without a cache, as it is by default."""
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers = ["127.0.0.1"]
    resolver.port = port
    resolver.lifetime = LONGEST

    async def ask(name: str) -> str:
        answer = await resolver.resolve(name, "A", search=False)
        return str(answer[0])

    return ask


def aiodns_(port: int) -> Ask:
    """c-ares through pycares. Its cache has no effect, because all names differ."""
    resolver = aiodns.DNSResolver([f"127.0.0.1:{port}"], timeout=LONGEST / 2, tries=2)

    async def ask(name: str) -> str:
        answer = await resolver.query_dns(name, "A")
        data = answer.answer[0].data
        assert isinstance(data, pycares.ARecordData)
        address: str = data.addr
        return address

    return ask


PEERS: dict[str, Callable[[int], Ask]] = {"dnspython": dnspython, "aiodns": aiodns_}


async def work(ask: Ask, names: Iterator[str]) -> int:
    """Resolve `names` one after another; returns the number without an answer."""
    failed = 0
    for name in names:
        try:
            print(name, await ask(name))
        except (dns.exception.DNSException, aiodns.error.DNSError) as error:
            failed += 1
            print(name, f"!{type(error).__name__}")
    return failed


async def main(peer: str, file: str, port: int, parallel: int) -> None:
    with open(file) as lines:
        names = [line.strip() for line in lines]
    ask, shared = PEERS[peer](port), iter(names)
    started = time.perf_counter()
    failed = await asyncio.gather(*(work(ask, shared) for _ in range(parallel)))
    seconds = time.perf_counter() - started
    summary = {"names": len(names), "failed": sum(failed), "seconds": seconds}
    print(json.dumps(summary), file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
