"""A real application behind its login: the administration of Django, mirrored and read offline."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from check_mirror import BROKEN, LINK, REQUISITE, WORKING, walk

from tests.support.crawling import LARBINPY
from tests.support.doors.djangosite import FORGETS, GROUPS, PASSWORD, USER, USERS, django_site
from tests.support.doors.leaks import content, secrets_in

pytestmark = pytest.mark.slow


def is_login(request: dict[str, Any]) -> bool:
    return str(request["path"]).startswith("/admin/login/")


def test_the_administration_of_django_is_mirrored(tmp_path: Path) -> None:
    """It forgets all sessions once. Its pages forbid robots to follow links."""
    logins = tmp_path / "logins.toml"
    logins.touch(0o600)
    with django_site(tmp_path / "site") as site:
        logins.write_text(
            f'[[login]]\nsite = "{site.url("")}"\nmethod = "form"\npage = "/admin/login/"\n'
            f'user = "{USER}"\npassword = "{PASSWORD}"\nloggedIn = "user-tools"\n'
        )
        settings = [f"--set=loginFile={logins}", "--set=ignoreRobots=on"]
        options = ["--wait", "0", "--allow-private", "--progress", "none", *settings]
        done = subprocess.run(
            [*LARBINPY, "mirror", site.url("/admin/"), "mirror", *options],
            cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        requests = site.requests
    assert [each["status"] for each in requests if each["method"] == "POST"] == [302, 302]
    pages = [each["path"] for each in requests if each["known"] and each["status"] == 200]
    assert len(pages) > FORGETS
    refused = [each for each in requests if not each["known"] and not is_login(each)]
    assert len(refused) <= 2
    # All objects, with their forms, histories and questions before a deletion.
    mirror = next((tmp_path / "mirror").glob("127.0.0.1*"))
    for kind, number in (("user", USERS + 1), ("group", GROUPS)):
        for page in ("change", "history", "delete"):
            found = sorted(mirror.glob(f"admin/auth/{kind}/*/{page}/index.html"))
            assert len(found) == number, (kind, page)
            assert all("user-tools" in file.read_text() for file in found)
    offline = walk(mirror / "admin/index.html")
    assert (offline.counts[LINK, BROKEN], offline.counts[REQUISITE, BROKEN]) == (0, 0)
    assert offline.counts[REQUISITE, WORKING] > 1000
    assert offline.pages > 600
    files = [path for path in (tmp_path / "mirror").rglob("*") if path.is_file()]
    assert [path for path in files if secrets_in(content(path), [PASSWORD])] == []
