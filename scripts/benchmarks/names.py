"""A name server for the hosts of the benchmarks, which have names only with TLS.

python -m benchmarks.names          (prints its port on 127.0.0.1)
"""

from experiments.dnsreplies import reply_to, udp_socket

from benchmarks.web import address, number_of


def answer(query: bytes) -> bytes | None:
    """The reply to a query; None for other names."""
    return reply_to(query, _address)


def _address(name: str) -> str | None:
    number = number_of(name)
    return None if number is None else address(number)


def main() -> None:
    with udp_socket("127.0.0.1") as udp:
        print(udp.getsockname()[1], flush=True)
        while True:
            query, source = udp.recvfrom(512)
            reply = answer(query)
            if reply is not None:
                udp.sendto(reply, source)


if __name__ == "__main__":
    main()
