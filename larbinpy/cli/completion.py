"""``larbinpy completion``."""

import click
from click.shell_completion import get_completion_class

from larbinpy.cli.common import all_commands, plain_errors

#: The environment variable in which a shell asks for completions; click's own name for it.
_VARIABLE = "_LARBINPY_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a completion script.

    It lets the shell complete commands, options and keywords. For bash, in ~/.bashrc:
    eval "$(larbinpy completion bash)"
    """
    with plain_errors():
        maker = get_completion_class(shell)
        assert maker is not None, shell
        click.echo(maker(all_commands(context), {}, "larbinpy", _VARIABLE).source())
