"""`chains`: the ready chains, one of them step by step, or as a file to edit."""

from dataclasses import dataclass

from engine.commands import DONE
from engine.commands.arguments import Settings, option
from engine.commands.output import print_entries, print_one, table
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
            remedy = "Name it: chains unsharp --out mine.json"
            raise BadValue("--out without a chain", "one chain is written", remedy)
        known = ready_chains()
        entries = [{"key": chain.key, **entry_of(chain)} for chain in known]
        rows = [(chain.key, str(len(chain.steps)), chain.title, chain.about) for chain in known]
        print_entries(
            settings.json, "chains", entries, table(("key", "steps", "title", "what it does"), rows)
        )
        return DONE
    chain = chain_named(settings.name)
    if settings.out is not None:
        check_place(settings.out)
        save_chain(chain, settings.out)
    text = "\n".join([f"{chain.title}: {chain.about}", *chain.text.split("; ")])
    if settings.out is not None:
        text = f"{settings.out}: {chain.title or settings.name}, {len(chain.steps)} steps"
    print_one(settings.json, {"format": FORMAT, "version": VERSION, **entry_of(chain)}, text)
    return DONE
