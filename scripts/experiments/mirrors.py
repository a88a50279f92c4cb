"""One site mirrored by three programs, with the links that work in each mirror.

The site is the installed documentation below a start page, and a page of oddities: pages with
queries, pages without a file extension, redirects, a style sheet that imports another, images
of another host, and a page whose encoding only its header names.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

from check_mirror import walk

from experiments import nginx
from experiments.report import Report, Table

HOST, OTHER, PORT = "127.0.0.1", "127.0.0.2", 18400
#: Folder of the site -> path in Debian's packages.
_DOCUMENTS = {
    "python": "/usr/share/doc/python3-doc/html",
    "libstdc++": "/usr/share/doc/gcc-12-base/libstdc++",
    "postgresql": "/usr/share/doc/postgresql-doc-15/html",
}
#: "missed" counts the URLs that the site has but that the mirror still links to on the site.
_COLUMNS = ("program", "seconds", "missed")
_DOT = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,"
    b"\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)


def oddities(other: str) -> dict[str, bytes]:
    """File -> content: the page of oddities and the files that it needs."""
    index = f"""<!DOCTYPE html><title>odd</title><link rel=stylesheet href="s/a.css?v=3">
<img src="dot.gif?size=2"><img srcset="{other}/odd/far.gif 1x, dot.gif 2x" src=dot.gif>
<p style="background: url('dot.gif?size=3')"><svg><image href="drawn"/></svg>
<a href="page?id=1&amp;x=a/b">1</a> <a href="page?id=2">2</a> <a href=plain>plain</a>
<a href=moved>moved</a> <a href="a%20b%23c.html#part">blank</a> <a href=latin>latin</a>
<a href=based>based</a> <a href="../odd">folder</a>"""
    return {
        "index.html": index.encode(),
        "s/a.css": f'@import "b.css"; body {{ background: url({other}/odd/far.gif) }}'.encode(),
        "s/b.css": b"@font-face { font-family: x; src: url('../font.woff2?x#y') }",
        "font.woff2": b"wOF2",
        "dot.gif": _DOT,
        "far.gif": _DOT,
        "drawn": b'<svg xmlns="http://www.w3.org/2000/svg"><a href="plain"/></svg>',
        "page": b"<!DOCTYPE html><title>q</title><a href=page?id=3>3</a><a href='./'>up</a>",
        "plain": b"<!DOCTYPE html><title>plain</title><img src=dot.gif>",
        "a b#c.html": b"<!DOCTYPE html><title>b</title><p id=part><a href=index.html>i</a>",
        "latin": "<!DOCTYPE html><title>Größe</title><a href=plain>x</a>".encode("latin-1"),
        "based": b"<!DOCTYPE html><title>b</title><base href='/odd/s/'><a href='../plain'>x</a>",
    }


def _configuration(folder: Path, site: Path) -> str:
    return f"""worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    include /etc/nginx/mime.types; access_log off; {nginx.temporary_paths(folder)}
    server {{
        listen {HOST}:{PORT}; listen {OTHER}:{PORT}; root {site};
        location = /odd/moved {{ return 302 plain; }}
        location = /odd/drawn {{ default_type image/svg+xml; }}
        location = /odd/latin {{ default_type "text/html; charset=iso-8859-1"; }}
        location ~ ^/odd/(page|plain|based)$ {{ default_type text/html; }}
    }}
}}
"""


@contextmanager
def served(folder: Path, documents: Sequence[str]) -> Iterator[str]:
    """Serve the site from `folder`; gives the URL of its start page."""
    site = folder / "site"
    for name, content in oddities(f"http://{OTHER}:{PORT}").items():
        path = site / "odd" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    found = [name for name in documents if Path(_DOCUMENTS[name]).exists()]
    for name in found:
        (site / name).symlink_to(_DOCUMENTS[name])
    links = "".join(f'<a href="{name}/index.html">{name}</a>\n' for name in [*found, "odd"])
    (site / "index.html").write_text(f"<!DOCTYPE html><title>all</title>{links}")
    with nginx.running(_configuration(folder, site), folder, PORT):
        yield f"http://{HOST}:{PORT}/"


def _commands(url: str, folder: Path) -> dict[str, tuple[list[str], str]]:
    """Program -> its command, and the path of the start page in its folder.

    With -o0 HTTrack does not save error pages, to which links would "work".
    """
    larbinpy = [sys.executable, "-m", "larbinpy", "mirror", url, str(folder / "larbinpy")]
    quick = ["--wait", "0", "--allow-private", "--progress", "none", "--set", "maxUrlsBySite=1000"]
    wget2 = ["wget2", "-q", "-r", "-l", "inf", "-k", "-p", "-E", "-P", str(folder / "wget2"), url]
    limits = ["--max-rate=0", "--connection-per-second=0", "--disable-security-limits"]
    httrack = ["httrack", url, "-O", str(folder / "httrack"), "-q", "-n", "-o0", "--robots=0"]
    return {
        "larbinpy": ([*larbinpy, *quick], f"{HOST}:{PORT}/index.html"),
        "wget2": (wget2, f"{HOST}/index.html"),
        "httrack": ([*httrack, *limits, "--sockets=8"], f"{HOST}_{PORT}/index.html"),
    }


def run(out: Path, *, quick: bool, programs: Sequence[str], seconds: float) -> str:
    """Mirror with each of `programs` for at most `seconds`; returns the table."""
    report = Report(out, "mirror", "Mirrors of one site. Links were followed from the start page.")
    table = None
    with tempfile.TemporaryDirectory(prefix="mirrors-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # nginx runs as another user.
        with served(folder, [] if quick else [*_DOCUMENTS]) as url:
            for program, (command, start) in _commands(url, folder).items():
                if program not in programs or not shutil.which(command[0]):
                    continue
                took = _timed(command, report.path(".log"), seconds)
                found = walk(folder / program / start)
                row = found.row()
                table = table or Table("Links and requisites", *_COLUMNS, *row)
                table.add(program, took, _missed(found.absolute), *row.values())
    if table is not None:
        report.table(table)
    return report.close()


def _missed(urls: Iterable[str]) -> int:
    """Number of `urls`, links of a mirror to the site, that exist there."""
    missed = 0
    with closing(HTTPConnection(HOST, PORT, timeout=10)) as connection:
        for url in urls:
            host, slash, path = url.partition("://")[2].partition("/")
            if host in (f"{HOST}:{PORT}", f"{OTHER}:{PORT}"):
                connection.request("HEAD", quote(slash + path, safe="/%?=&;"))
                answer = connection.getresponse()
                answer.read()
                missed += answer.status < 400
    return missed


def _timed(command: list[str], log: Path, seconds: float) -> float:
    """Run `command`; returns its time in seconds."""
    began = time.monotonic()
    with log.open("ab") as file, tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        try:
            subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            print(f"{command[0]} was stopped after {seconds:.0f} s", file=sys.stderr)
    return round(time.monotonic() - began, 1)
