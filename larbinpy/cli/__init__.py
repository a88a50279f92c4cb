"""The commands: parse, call, exit. What they do is done elsewhere."""

from difflib import get_close_matches
from importlib import import_module

import click

from larbinpy.console.stream import open_all

#: Command -> the module beside this one that it is in.
_HOMES = {
    "crawl": "crawl",
    "mirror": "mirror",
    "demo": "crawl",
    "frontier": "crawl",
    "check-config": "crawl",
    "seed": "talk",
    "console": "talk",
    "status": "talk",
    "resolve": "resolve",
    "fetch": "fetch",
    "man": "help",
    "completion": "help",
}


class _Commands(click.Group):
    """Loads a command when it is used: who resolves names does not wait for a crawler."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_HOMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _HOMES:
            return None
        module = import_module(f"larbinpy.cli.{_HOMES[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in _HOMES or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        near = get_close_matches(name, _HOMES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise click.UsageError(f"No such command {name!r}.{hint}", ctx)


def _version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        # Loaded when it is used, as it loads nearly everything.
        lines = import_module("larbinpy.cli.about").versions()
        click.echo("\n".join(lines))
        context.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Show the versions of larbinpy and of what it stands on, and exit.",
)
def main() -> None:
    """A polite, fast web crawler in the mould of Larbin: one process, one poll loop."""
    open_all()
