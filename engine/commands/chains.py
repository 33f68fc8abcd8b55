"""`chains`: the ready chains, and one of them as a file to edit."""

from dataclasses import dataclass

from engine.commands import DONE
from engine.commands.arguments import Settings, option
from engine.commands.output import print_answer, print_entries, print_json, table
from engine.errors import BadValue
from engine.files.atomic_write import check_place
from engine.work.chain_files import FORMAT, VERSION, chain_named, entry_of, ready_chains, save_chain


@dataclass(frozen=True, kw_only=True)
class ChainsSettings(Settings):
    """What `chains` takes."""

    about = "`filter --chain NAME` does what a chain says; docs/chains.md says how to write one."
    examples = ("", "unsharp", "unsharp --out mine.json")

    name: str | None = option("NAME  show the steps of this one, or of a file", None)
    out: str | None = option("--out FILE  write it into a file, to be edited", None)


def run(settings: ChainsSettings) -> int:
    """List chains, show one or write one; return the exit status."""
    if settings.name is None:
        if settings.out is not None:
            raise BadValue(
                "--out without a chain", "one chain is written", "Name it: chains unsharp --out mine.json"
            )
        known = ready_chains()
        if settings.json:
            print_entries("chains", [{"key": chain.key, **entry_of(chain)} for chain in known])
            return DONE
        rows = [(chain.key, str(len(chain.steps)), chain.title, chain.about) for chain in known]
        print_answer(table(("key", "steps", "title", "what it does"), rows))
        return DONE
    chain = chain_named(settings.name)
    if settings.out is not None:
        check_place(settings.out)
        save_chain(chain, settings.out)
    if settings.json:
        print_json({"format": FORMAT, "version": VERSION, **entry_of(chain)})
    elif settings.out is not None:
        print_answer(f"{settings.out}: {chain.title or settings.name}, {len(chain.steps)} steps")
    else:
        print_answer("\n".join([f"{chain.title}: {chain.about}", *chain.text.split("; ")]))
    return DONE
