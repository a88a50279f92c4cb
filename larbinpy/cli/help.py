"""Commands about the program: its manual pages, and what a shell completes."""

import click
from click.shell_completion import get_completion_class

from larbinpy.cli.common import plain_errors
from larbinpy.cli.manual import PAGES, page

#: Where a shell that completes asks; click's own name for it.
_VARIABLE = "_LARBINPY_COMPLETE"


def _commands(context: click.Context) -> click.Group:
    group = context.find_root().command
    assert isinstance(group, click.Group)
    return group


@click.command()
@click.argument("name", metavar="[PAGE]", default="larbinpy", type=click.Choice(list(PAGES)))
@click.pass_context
def man(context: click.Context, name: str) -> None:
    """Print a manual page.

    PAGE is larbinpy or larbin.conf; what is printed is for man itself to read: larbinpy man
    larbin.conf | man -l -
    """
    with plain_errors():
        click.echo(page(name, _commands(context)), nl=False)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a completion script.

    With it the shell completes commands, options and keywords. For bash, in ~/.bashrc:
    eval "$(larbinpy completion bash)"
    """
    with plain_errors():
        maker = get_completion_class(shell)
        assert maker is not None, shell
        click.echo(maker(_commands(context), {}, "larbinpy", _VARIABLE).source())
