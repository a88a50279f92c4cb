from pathlib import Path

from larbinpy.dns.resolver import read_hosts, system_servers


def test_hosts(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_bytes(
        b"# a comment\n"
        b"127.0.0.1\tlocalhost\n"
        b"::1 localhost ip6-localhost\n"
        b"2001:db8::7 both.test\n"
        b"192.0.2.7  Both.Test. other.test # also both.test\n"
        b"192.0.2.7 both.test\n"
        b"\n"
        b"192.0.2.8\n"
        b"not-an-address name.test\n"
        b"fe80::1%lo0 zone.test\n"
        b"192.0.2.9 bad/name.test good.test \xff\xfe\n"
    )
    assert read_hosts(path) == {
        "localhost": ("127.0.0.1", "::1"),
        "ip6-localhost": ("::1",),
        "both.test": ("192.0.2.7", "2001:db8::7"),
        "other.test": ("192.0.2.7",),
        "good.test": ("192.0.2.9",),
    }


def test_no_hosts(tmp_path: Path) -> None:
    assert read_hosts(tmp_path / "none") == {}


def test_servers(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text(
        "# made by something\n; and a comment\n"
        "search example.test\n"
        "nameserver 192.0.2.53\nnameserver 2001:db8::53 # second\n"
        "nameserver 192.0.2.54;third\n"
        "nameserver 192.0.2.53\nnameserver\nnameserver fe80::1%eth0\nnameserver name.test\n"
        "options timeout:1\n"
    )
    assert system_servers(path) == [
        ("192.0.2.53", 53),
        ("2001:db8::53", 53),
        ("192.0.2.54", 53),
    ]


def test_the_local_server_where_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    assert system_servers(path) == [("127.0.0.1", 53)]
    path.write_text("search example.test\n")
    assert system_servers(path) == [("127.0.0.1", 53)]
