"""Registered domains: the part of a host that was registered, by the Public Suffix List.

The list comes with the package publicsuffixlist and is loaded when it is first used: 30 ms.
"""

from functools import cache, lru_cache
from typing import Any

#: Hosts whose domain is remembered; finding one takes 2 us.
_MOST = 1 << 14


@cache
def _list() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


@lru_cache(_MOST)
def registered_domain(host: str) -> str:
    """The registered domain of a host as URLs spell it; an address or a suffix is its own.

    `www.example.co.uk` -> `example.co.uk`; `user.github.io` is one, as everybody may register
    there.
    """
    if host.endswith("]") or host.rpartition(".")[2].isdigit():
        return host
    return _list().privatesuffix(host) or host


def is_suffix(name: str) -> bool:
    """Whether domains are registered under `name`, so that it is none itself."""
    return bool(_list().is_public(name))
