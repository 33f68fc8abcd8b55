"""Reasons as data: why something is refused, chosen or has failed; sentences are made where it is shown."""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is refused, chosen or has failed.

    Parameters
    ----------
    code : str
        What kind of reason it is, for programs: "float32-results-only". It stays when words change.
    short : str
        A few words for a list or a cell of a table, without a full stop; with a capital for a refusal or a
        failure.
    detail : str
        For a refusal or a failure: whole sentences that say the same with numbers; empty where `short` says
        it all. For a choice: further clauses.
    remedy : str
        Whole sentences on what a person can do; empty where nothing helps.
    """

    code: str
    short: str
    detail: str = ""
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """The reason without what helps."""
        return self.detail or f"{self.short}."

    @property
    def clauses(self) -> str:
        """A choice in one line, for brackets and cells: what decided, and what else was compared."""
        return "; ".join(filter(None, (self.short, self.detail)))

    def and_also(self, *clauses: str) -> Self:
        """Return the reason of a choice with further clauses."""
        return replace(self, detail="; ".join(filter(None, (self.detail, *clauses))))

    def as_json(self) -> dict[str, str]:
        """Return the reason as plain data for JSON."""
        return {name: getattr(self, name) for name in ("code", "short", "detail", "remedy")}

    def __str__(self) -> str:
        return " ".join(filter(None, (self.sentence, self.remedy)))
