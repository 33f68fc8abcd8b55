"""How well a typed text fits a title: what was typed may leave letters out. No widgets in here."""

import re

_WORD = re.compile(r"\w+")


def fit(typed: str, title: str) -> float:
    """Return how well a text fits, higher is better; 0 where it does not.

    Each typed word must be found: best at the start of a word, then anywhere, then with letters left out.
    """
    whole, total = title.casefold(), 0.0
    starts = {found.start() for found in _WORD.finditer(whole)}
    for word in typed.casefold().split():
        score = _fit_of_word(word, whole, starts)
        if not score:
            return 0.0
        total += score
    # Of titles that fit alike, the shorter one.
    return total + 1.0 / (1 + len(whole)) if total else 1.0


def _fit_of_word(word: str, title: str, starts: set[int]) -> float:
    at = [found.start() for found in re.finditer(re.escape(word), title)]
    if at:
        return 3.0 + (at[0] == 0) if any(place in starts for place in at) else 2.0
    # The first letter begins a word: "sx" is Sobel x.
    for start in sorted(starts):
        place = start
        for letter in word:
            place = title.find(letter, place) + 1
            if not place:
                break
        else:
            if title[start] == word[0]:
                return 1.0
    return 0.0
