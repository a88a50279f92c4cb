"""The small files of the demo web, generated: pictures, sound, XML, CSS."""

import struct
import zlib

from larbinpy.demo.site import Host


def png(shade: int) -> bytes:
    """A 16 x 16 picture in one colour (PNG, RFC 2083)."""

    def chunk(name: bytes, data: bytes) -> bytes:
        check = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)

    colour = bytes((40 + shade * 17 % 200, 90, 200 - shade * 13 % 180))
    rows = (b"\0" + colour * 16) * 16
    header = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def svg(shade: int) -> str:
    """A disc."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16">'
        f'<circle cx="8" cy="8" r="7" fill="#{shade * 0x111:03x}"/></svg>\n'
    )


def tone() -> bytes:
    """A tenth of a second of a square wave (WAVE, PCM, 8 bit, 8 kHz)."""
    samples = (b"\x40" * 9 + b"\xc0" * 9) * 44
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    data = struct.pack("<4sI", b"data", len(samples)) + samples
    return struct.pack("<4sI4s", b"RIFF", 4 + len(form) + len(data), b"WAVE") + form + data


def cascading(*urls: str) -> str:
    """A style sheet with `urls` as backgrounds."""
    rules = (f"h{n} {{ background: url({url}) no-repeat right }}" for n, url in enumerate(urls, 1))
    return "\n".join(["body { font: 16px/1.5 serif; max-width: 40em; margin: auto }", *rules, ""])


def _urls(host: Host, paths: list[str]) -> list[str]:
    return [f"http://{host.name}:{host.port}{path}" for path in paths]


def sitemap(host: Host, paths: list[str], *, index: bool = False) -> bytes:
    """A sitemap of `paths`, or an index of sitemaps (sitemaps.org, 0.9)."""
    outer, inner = ("sitemapindex", "sitemap") if index else ("urlset", "url")
    entries = (f"<{inner}><loc>{url}</loc></{inner}>\n" for url in _urls(host, paths))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{outer} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{''.join(entries)}</{outer}>\n"
    ).encode()


def rss(host: Host, paths: list[str]) -> bytes:
    """A feed of `paths` (RSS 2.0)."""
    items = (f"<item><title>A</title><link>{url}</link></item>\n" for url in _urls(host, paths))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel><title>News</title>\n'
        f"{''.join(items)}</channel></rss>\n"
    ).encode()


def atom(host: Host, paths: list[str]) -> bytes:
    """A feed of `paths` (Atom, RFC 4287)."""
    entries = (f'<entry><link href="{url}"/></entry>\n' for url in _urls(host, paths))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"{''.join(entries)}</feed>\n"
    ).encode()
