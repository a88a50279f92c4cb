"""The mirror on a disk: collisions, planted links, kills, and a disk that refuses."""

import errno
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.output.mirror.mirror import MirrorOutput
from larbinpy.page import Outcome, Page
from larbinpy.url import Url, canonical
from tests.support.moments import moments
from tests.support.smallfiles import small_files


def page(url: str, body: bytes | None = None, **fields: object) -> Page:
    content = url.encode() if body is None else body
    return Page(Url(url, 1), Outcome.SUCCESS, 200, body=content, **fields)  # type: ignore[arg-type]


def save(root: Path, *urls: str, suffix: bytes = b"") -> None:
    mirror = MirrorOutput(root)
    for url in urls:
        mirror.loaded(page(url, url.encode() + suffix))
    mirror.close()


def files(root: Path) -> dict[str, bytes]:
    """Paths and contents, without the file of names."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if not path.is_dir() and path.name != ".larbinpy-names"
    }


def test_pages_lie_where_their_urls_say(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    urls = {
        "http://h/": "h/index.html",
        "http://h:81/x/y.html": "h:81/x/y.html",
        "http://h/x/": "h/x/index.html",
        "http://h/x/index.html?q=1": "h/x/index.html?q=1",
        "https://s/p?q=1": "s/p?q=1",
    }
    save(out, *urls)
    assert files(out) == {path: url.encode() for url, path in urls.items()}


def test_a_page_and_a_folder_of_one_name_come_in_any_order(tmp_path: Path) -> None:
    urls = ("http://h/a", "http://h/a/", "http://h/a/b", "http://h/a/b/c")
    for number, order in enumerate(permutations(urls)):
        root = tmp_path / str(number)
        save(root, *order)
        assert files(root) == {
            "h/a#file": b"http://h/a",
            "h/a/index.html": b"http://h/a/",
            "h/a/b#file": b"http://h/a/b",
            "h/a/b/c": b"http://h/a/b/c",
        }


@pytest.mark.parametrize(
    ("first", "second", "places"),
    [
        ("http://h/a/", "http://h/a/index.html", ("h/a/index.html", "h/a/index.html#file")),
        ("http://h/a/index.html", "http://h/a/", ("h/a/index.html", "h/a/index.html#folder")),
        ("http://h/x", "https://h/x", ("h/x", "h#https/x")),
        ("https://h/x", "http://h/x", ("h/x", "h#http/x")),
        ("https://h:81/", "http://h:81/", ("h:81/index.html", "h:81#http/index.html")),
    ],
)
def test_the_first_keeps_the_plain_name_over_a_restart(
    first: str, second: str, places: tuple[str, str], tmp_path: Path
) -> None:
    for suffix in (b" once", b" again"):
        save(tmp_path, first, second, suffix=suffix)
        save(tmp_path, second, first, suffix=suffix)
        assert files(tmp_path) == {
            places[0]: first.encode() + suffix,
            places[1]: second.encode() + suffix,
        }


def test_an_index_that_must_become_a_folder(tmp_path: Path) -> None:
    for number, first in enumerate(("http://h/", "http://h/index.html")):
        root = tmp_path / str(number)
        save(root, first, "http://h/index.html/x")
        assert len(files(root)) == 2
        save(root, first, suffix=b" again")
        assert sorted(files(root).values()) == [
            f"{first} again".encode(),
            b"http://h/index.html/x",
        ]
        save(root, "http://h/", "http://h/index.html")
        assert files(root) == {
            "h/index.html#folder": b"http://h/",
            "h/index.html#file": b"http://h/index.html",
            "h/index.html/x": b"http://h/index.html/x",
        }


def test_names_that_differ_little_are_all_kept(tmp_path: Path) -> None:
    texts = [
        "a",
        "A",
        "%C3%A9",
        "e%CC%81",
        "a%2Fb",
        "a/b",
        "a%00",
        "~",
        "CON",
        "a//b",
        "a?",
        "a%3F",
    ]
    texts += ["a?/", "a?%2F", "x" * 300, "x" * 300 + "y", "q?" + "k=v&" * 1000, "..%2Fx", "x" * 255]
    urls = {canonical(f"http://h/{text}") for text in texts}
    save(tmp_path, *urls)
    assert sorted(files(tmp_path).values()) == sorted(url.encode() for url in urls)


@pytest.mark.parametrize("length", [254, 255, 256, 257])
def test_names_as_long_as_the_file_system_takes(length: int, tmp_path: Path) -> None:
    """The own names of both pages are longer than their plain ones."""
    name = "x" * length
    urls = [f"http://h/{name}", f"http://h/{name}/y", f"http://h/{name}/", f"http://h/?{name[1:]}"]
    save(tmp_path, *urls)
    assert sorted(files(tmp_path).values()) == sorted(url.encode() for url in urls)


near_urls = st.builds(
    lambda scheme, parts, query: canonical(f"{scheme}://h/{'/'.join(parts)}{query}"),
    st.sampled_from(["http", "https"]),
    st.lists(st.sampled_from(["", "a", "index.html", "x" * 260]), min_size=1, max_size=4),
    st.sampled_from(["", "", "?q", "?/"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(near_urls, min_size=1, max_size=10), st.integers(0, 10))
def test_every_url_has_one_file_in_any_order(urls: list[str], stop: int) -> None:
    with TemporaryDirectory() as name:
        root = Path(name)
        for suffix in (b" once", b" again"):
            save(root, *urls[:stop], suffix=suffix)
            save(root, *urls[stop:], suffix=suffix)
            assert sorted(files(root).values()) == sorted(u.encode() + suffix for u in set(urls))


@settings(max_examples=60, deadline=None)
@given(st.text("./\\%2eEfF0~\x00 \u202eh:?#@", max_size=30))
def test_hostile_paths_stay_inside(text: str) -> None:
    urls = {canonical("http://h/" + text), canonical("http://h/x?" + text)}
    with TemporaryDirectory() as name:
        root = Path(name) / "out"
        save(root, *urls)
        assert os.listdir(name) == ["out"]
        assert sorted(files(root).values()) == sorted(url.encode() for url in urls)


def test_servers_do_not_choose_names(tmp_path: Path) -> None:
    mirror = MirrorOutput(tmp_path)
    headers = [
        ("content-disposition", 'attachment; filename="../../evil"'),
        ("content-location", "/.wgetrc"),
        ("location", "/.bashrc"),
    ]
    mirror.loaded(page("http://h/x.html", b"body", headers=headers))
    mirror.close()
    assert files(tmp_path) == {"h/x.html": b"body"}


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A file outside the mirror that must not change, in a folder that must not change."""
    folder = tmp_path / "outside"
    folder.mkdir()
    path = folder / "passwd"
    path.write_bytes(b"untouched")
    yield path
    assert path.read_bytes() == b"untouched"
    assert os.listdir(folder) == ["passwd"]


def test_a_planted_link_is_replaced_and_not_followed(tmp_path: Path, victim: Path) -> None:
    root = tmp_path / "out"
    (root / "h").mkdir(parents=True)
    (root / "h" / "a").symlink_to(victim)
    (root / "h" / "index.html").symlink_to(victim)
    save(root, "http://h/a", "http://h/")
    assert files(root) == {"h/a": b"http://h/a", "h/index.html": b"http://h/"}
    assert not (root / "h" / "a").is_symlink()


def test_a_link_planted_for_a_folder_is_not_entered(tmp_path: Path, victim: Path) -> None:
    root = tmp_path / "out"
    (root / "h").mkdir(parents=True)
    (root / "h" / "a").symlink_to(victim.parent)
    (root / "h" / "b").symlink_to(victim)
    save(root, "http://h/a/passwd", "http://h/b/x")
    assert (root / "h/a/passwd").read_bytes() == b"http://h/a/passwd"
    assert (root / "h/b/x").read_bytes() == b"http://h/b/x"


def test_a_link_planted_for_a_host_is_not_entered(tmp_path: Path, victim: Path) -> None:
    root = tmp_path / "out"
    root.mkdir()
    (root / "h").symlink_to(victim.parent)
    save(root, "http://h/passwd")
    assert (root / "h#http/passwd").read_bytes() == b"http://h/passwd"


def test_links_planted_for_the_mirrors_own_files(tmp_path: Path, victim: Path) -> None:
    root = tmp_path / "out"
    root.mkdir()
    (root / ".larbinpy-part").symlink_to(victim)
    save(root, "http://h/a")
    assert files(root) == {"h/a": b"http://h/a"}
    (root / ".larbinpy-names").unlink()
    (root / ".larbinpy-names").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        MirrorOutput(root)


def test_a_second_crawl_is_refused(tmp_path: Path) -> None:
    mirror = MirrorOutput(tmp_path)
    with pytest.raises(BlockingIOError):
        MirrorOutput(tmp_path)
    mirror.close()


def killed_at(step: int, work: Callable[[], None]) -> bool:
    """Do `work` in a child that kills itself before its `step`-th change; return if it died."""
    child = os.fork()
    if child == 0:
        left = step

        def counted(call: Callable[..., object]) -> Callable[..., object]:
            def wrapper(*args: object, **kwargs: object) -> object:
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*args, **kwargs)

            return wrapper

        write = os.write

        def half(fd: int, data: bytes) -> int:
            return write(fd, data[: max(1, len(data) // 2)])

        for name in ("open", "rename", "mkdir", "unlink", "close"):
            setattr(os, name, counted(getattr(os, name)))
        os.write = counted(half)  # type: ignore[assignment]
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_a_kill_at_any_moment_leaves_whole_files(tmp_path: Path) -> None:
    urls = ["http://h/a", "https://h/a/", "http://h/a/b", "http://h/a/index.html", "http://h/a/"]
    for step in moments():
        root = tmp_path / str(step)
        died = killed_at(step, lambda root=root: save(root, *urls))  # type: ignore[misc]
        found = files(root)
        found.pop(".larbinpy-part", None)
        assert set(found.values()) <= {url.encode() for url in urls}
        # The temporary file goes, though no page comes.
        save(root)
        assert files(root) == found
        save(root, *urls)
        found = files(root)
        assert set(found.values()) == {url.encode() for url in urls}
        if not died:
            break
    assert step > 40


def test_a_disk_that_refuses_leaves_what_was_there(tmp_path: Path) -> None:
    mirror = MirrorOutput(tmp_path)
    mirror.loaded(page("http://h/a", b"old"))
    for url in ("http://h/a", "http://h/new", "http://h/a/b"):
        with small_files(10_000), pytest.raises(OSError) as caught:
            mirror.loaded(page(url, b"x" * 20_000))
        assert caught.value.errno == errno.EFBIG
        assert files(tmp_path) == {"h/a": b"old"}
    mirror.loaded(page("http://h/a", b"newer"))
    assert files(tmp_path) == {"h/a": b"newer"}
    assert mirror.stats() == {"pages": 2, "bytes": 8, "own_names": 0}
    mirror.close()


@pytest.mark.parametrize("step", ["rename", "mkdir"])
def test_a_step_that_fails_leaves_no_temporary(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EROFS, "read-only")

    mirror = MirrorOutput(tmp_path)
    monkeypatch.setattr(os, step, refuse)
    with pytest.raises(OSError, match="read-only"):
        mirror.loaded(page("http://h/a"))
    assert files(tmp_path) == {}
    mirror.close()


def test_a_full_disk(tmp_path: Path) -> None:
    root = tmp_path / "small"
    root.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(root)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        mirror = MirrorOutput(root)
        written: list[str] = []
        with pytest.raises(OSError) as caught:
            for number in range(100):
                mirror.loaded(page(f"http://h/{number}", b"%03d" % number * 1000))
                written.append(f"h/{number}")
        assert caught.value.errno == errno.ENOSPC
        assert len(written) > 5
        assert files(root) == {path: b"%03d" % int(path[2:]) * 1000 for path in written}
        mirror.close()
    finally:
        subprocess.run(["umount", str(root)], check=True)


# As a part of the state:


@settings(max_examples=50, deadline=None)
@given(st.lists(near_urls, min_size=1, max_size=10, unique=True), st.data())
def test_pages_after_a_checkpoint_come_again_in_any_order(
    urls: list[str], data: st.DataObject
) -> None:
    """Names that were given after the checkpoint stay, and each URL has one file."""
    with TemporaryDirectory() as name:
        root = Path(name)
        saved = data.draw(st.integers(0, len(urls)))
        mirror = MirrorOutput(root)
        for url in urls[:saved]:
            mirror.loaded(page(url, url.encode() + b" once"))
        mark = mirror.cut()
        for url in urls[saved : data.draw(st.integers(saved, len(urls)))]:
            mirror.loaded(page(url, b"lost"))
        mirror.close()

        mirror = MirrorOutput(root)
        mirror.load(mark)
        for url in data.draw(st.permutations(urls[saved:])):
            mirror.loaded(page(url, url.encode() + b" once"))
        mirror.close()
        assert sorted(files(root).values()) == sorted(url.encode() + b" once" for url in urls)


def test_a_mark_differs_once_there_is_more(tmp_path: Path) -> None:
    mirror = MirrorOutput(tmp_path)
    marks = [mirror.cut()]
    for url in ("http://h/a", "http://h/b", "http://h/b"):
        assert mirror.cut() == marks[-1]
        mirror.loaded(page(url))
        assert mirror.cut() not in marks
        marks.append(mirror.cut())
    mirror.close()


def test_the_names_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = MirrorOutput(tmp_path)
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    mirror.sync()
    assert synced == [str(tmp_path / ".larbinpy-names")]
    mirror.close()
