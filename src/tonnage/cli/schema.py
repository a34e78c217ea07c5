"""`tonnage schema`: the JSON schema of a document kind, for editors."""

from __future__ import annotations

import click


@click.command()
@click.argument("kind", type=click.Choice(["run", "team", "cluster"], case_sensitive=False))
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="json",
    help="The schema is JSON either way.",
)
def schema(kind: str, output: str) -> None:
    """Print the JSON schema of a document kind, for editors.

    Save it and name it in the first line of a document, and an editor with YAML support completes and checks
    as you type:

    \b
        tonnage schema run > run.schema.json
        # yaml-language-server: $schema=run.schema.json
    """
    import json

    del output  # every command takes -o json; this one has no other form
    from tonnage.spec.schema import schema_of

    click.echo(json.dumps(schema_of(kind.capitalize()), indent=2, ensure_ascii=False))
