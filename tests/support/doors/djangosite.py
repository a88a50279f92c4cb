"""A Django admin with some 200 objects, as a process: ``djangosite FOLDER`` prints its port.

It notes each request in FOLDER/requests, a JSON object a line. After a number of pages it forgets
all sessions, once.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from tests.support.checkout import ROOT

USER, PASSWORD = "archivist", "admin pässword&7"
USERS, GROUPS = 120, 80
#: Pages after which all sessions are forgotten.
FORGETS = 300


def main(folder: Path) -> None:
    """Make the database and serve the site until the process is killed."""
    _configure(folder)
    _fill()
    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.core.wsgi import get_wsgi_application

    application = StaticFilesHandler(get_wsgi_application())
    server = make_server("127.0.0.1", 0, application, handler_class=_Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is printed."""


def _configure(folder: Path) -> None:
    import django
    from django.conf import settings

    contrib = ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles")
    settings.configure(
        SECRET_KEY="0" * 50,
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=__name__,
        INSTALLED_APPS=[f"django.contrib.{name}" for name in contrib],
        MIDDLEWARE=[
            f"{__name__}.noted",
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.common.CommonMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "site.db")}
        },
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        STATIC_URL="static/",
        USE_TZ=True,
        LARBINPY_REQUESTS=folder / "requests",
    )
    django.setup()


def _fill() -> None:
    from django.contrib import admin
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    User.objects.create_superuser(USER, "a@example.org", PASSWORD)
    User.objects.bulk_create(
        User(username=f"reader{n:03}", first_name=f"Given{n}", password="!") for n in range(USERS)
    )
    Group.objects.bulk_create(Group(name=f"group {n:03}") for n in range(GROUPS))

    class Plain(admin.ModelAdmin):  # type: ignore[misc]
        sortable_by = ()
        preserve_filters = False
        list_per_page = 40

    class Users(Plain):
        fields = ("username", "first_name", "last_name", "email", "is_active")

    class Groups(Plain):
        fields = ("name",)

    admin.site.unregister([User, Group])
    admin.site.register(User, Users)
    admin.site.register(Group, Groups)


def noted(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The middleware that notes requests."""
    from django.conf import settings

    pages = 0

    def handle(request: Any) -> Any:
        nonlocal pages
        response = get_response(request)
        known = hasattr(request, "user") and request.user.is_authenticated
        note = {
            "method": request.method,
            "path": request.get_full_path(),
            "status": response.status_code,
            "known": bool(known),
        }
        with settings.LARBINPY_REQUESTS.open("a") as file:
            file.write(json.dumps(note) + "\n")
        pages += known
        if known and pages == FORGETS:
            from django.contrib.sessions.models import Session

            Session.objects.all().delete()
        return response

    return handle


def __getattr__(name: str) -> Any:
    """`urlpatterns`, which need settings."""
    if name != "urlpatterns":
        raise AttributeError(name)
    from django.contrib import admin
    from django.urls import path
    from django.views.generic import RedirectView

    return [path("", RedirectView.as_view(url="/admin/")), path("admin/", admin.site.urls)]


@dataclass
class DjangoSite:
    """The site as a test sees it."""

    port: int
    folder: Path

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "requests").read_text().splitlines()]


@contextmanager
def django_site(folder: Path) -> Iterator[DjangoSite]:
    """Serve a new site, with its files in `folder`."""
    folder.mkdir()
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.doors.djangosite", str(folder)],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    try:
        yield DjangoSite(int(process.stdout.readline()), folder)
    finally:
        process.kill()
        process.communicate()


if __name__ == "__main__":
    # By its own name, as the settings name it.
    from tests.support.doors import djangosite

    djangosite.main(Path(sys.argv[1]))
