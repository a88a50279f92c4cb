"""Which addresses are on the public internet.

A crawled name may point anywhere, including into the crawler's own network. The tables are the
IANA special-purpose registries (RFC 6890 and its updates), read strictly: an address that is not
plainly global unicast is refused. `ipaddress.is_global` is not used, because Python's releases
differ over it and 3.11 lets through 192.0.0.8, multicast, and the loopback address behind NAT64
and 6to4 prefixes.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_NOT_PUBLIC_4 = [
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network, RFC 791
        "10.0.0.0/8",  # private, RFC 1918
        "100.64.0.0/10",  # carriers' NAT, RFC 6598
        "127.0.0.0/8",  # loopback, RFC 1122
        "169.254.0.0/16",  # link-local, RFC 3927; clouds' metadata
        "172.16.0.0/12",  # private, RFC 1918
        "192.0.0.0/24",  # protocol assignments, RFC 6890
        "192.0.2.0/24",  # documentation, RFC 5737
        "192.88.99.0/24",  # 6to4 relays, RFC 7526
        "192.168.0.0/16",  # private, RFC 1918
        "198.18.0.0/15",  # benchmarks, RFC 2544
        "198.51.100.0/24",  # documentation, RFC 5737
        "203.0.113.0/24",  # documentation, RFC 5737
        "224.0.0.0/4",  # multicast, RFC 5771
        "240.0.0.0/4",  # reserved, RFC 1112; broadcast
    )
]

#: All global unicast space that has been assigned (RFC 4291); the rest of IPv6 is refused.
_UNICAST_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = [
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID; RFC 2928
        "2001:db8::/32",  # documentation, RFC 3849
        "3fff::/20",  # documentation, RFC 9637
    )
]

# Prefixes of IPv6 addresses that embed the IPv4 address to which their packets are forwarded, and
# its position (bits from the right).
_EMBEDDING = [
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped, RFC 4291
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64, RFC 6052
    (IPv6Network("2002::/16"), 80),  # 6to4, RFC 3056
]


def is_public(address: str) -> bool:
    """Whether `address`, IPv4 or IPv6 as text, is on the public internet.

    An IPv6 address that embeds an IPv4 one is judged by that. False for text that is not an
    address, and for addresses with a zone.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return _is_public_4(parsed)
    return parsed.scope_id is None and _is_public_6(parsed)


def _is_public_4(address: IPv4Address) -> bool:
    return not any(address in network for network in _NOT_PUBLIC_4)


def _is_public_6(address: IPv6Address) -> bool:
    for network, shift in _EMBEDDING:
        if address in network:
            return _is_public_4(IPv4Address(int(address) >> shift & 0xFFFFFFFF))
    if address not in _UNICAST_6:
        return False
    return not any(address in network for network in _NOT_PUBLIC_6)
