"""Lines about cookies of a file that no site gets: of other hosts, expired, or with a tab."""

from collections.abc import Iterable, Iterator

from larbinpy.console.text import counted
from larbinpy.fetch.cookies_txt import HTTP_ONLY, cookie_lines, has_tab


def cookie_notes(path: str, hosts: Iterable[str], wall: float) -> list[str]:
    """Lines about the cookies of a cookies.txt that these `hosts` do not get.

    `wall` is the Unix time.
    """
    cookies = cookie_lines(path)
    tabs = sum(map(has_tab, cookies))
    left = [f"{path}: left out: {counted(tabs, 'cookie')} with a tab in the value"] if tabs else []
    return [*left, *filter(None, [_useless(path, cookies, hosts, wall)])]


def _useless(path: str, lines: list[bytes], hosts: Iterable[str], wall: float) -> str | None:
    """A line about cookies of which none of these `hosts` gets one; None if one does."""
    cookies = [line.removeprefix(HTTP_ONLY).split(b"\t") for line in lines]
    domains, expired = set(), 0
    for host, with_subdomains, _, _, expires, *_ in cookies:
        if 0 < _number(expires) <= wall:
            expired += 1
            continue
        domain = host.decode("latin-1").lower()
        domains.add(domain.lstrip("."))
        if domain.startswith(".") or with_subdomains.upper() == b"TRUE":
            domains.add("." + domain.lstrip("."))
    hosts = list(hosts)
    if not hosts or any(not domains.isdisjoint(_domains(host)) for host in hosts):
        return None
    more = f" and {len(hosts) - 1} more" if len(hosts) > 1 else ""
    of_them = [f"{expired} expired"] if expired else []
    return ", ".join(
        [f"{path}: {counted(len(cookies), 'cookie')}", *of_them, f"none for {hosts[0]}{more}"]
    )


def _domains(host: str) -> Iterator[str]:
    """The domains whose cookies `host` gets; those that also include subdomains begin with "."."""
    yield host
    yield "." + host
    for at, character in enumerate(host):
        if character == ".":
            yield host[at:]


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 20 else 0
