"""Findings about the input: the count and first places of each kind."""

_MOST = 5  # places of a kind


class Reports:
    """Counts of findings by kind, with up to five places each.

    `as_dict()` is JSON-serializable, `{kind: {"count": 2, "examples": ["a.txt, line 7"]}}`; `merge`
    adds such a dict, for example from another process.
    """

    def __init__(self):
        self._kinds = {}

    def add(self, kind: str, count: int, place: str | None = None) -> None:
        """Counts `count` findings of `kind`, seen at `place` (file and line, or page)."""
        examples = [] if place is None else [place.encode(errors="backslashreplace").decode()]
        self.merge({kind: {"count": count, "examples": examples}})

    def wants_example(self, kind: str) -> bool:
        """Returns whether another place of this kind would be kept; finding one may take time."""
        return len(self._kinds.get(kind, {"examples": ()})["examples"]) < _MOST

    def merge(self, kinds: dict[str, dict]) -> None:
        for kind, more in kinds.items():
            entry = self._kinds.setdefault(kind, {"count": 0, "examples": []})
            entry["count"] += more["count"]
            room = _MOST - len(entry["examples"])
            new = [place for place in more["examples"] if place not in entry["examples"]]
            entry["examples"] += new[:room]

    def as_dict(self) -> dict[str, dict]:
        return {kind: self._kinds[kind] for kind in sorted(self._kinds)}

    def lines(self) -> list[str]:
        """Returns the findings as human-readable lines."""
        return [
            f"{entry['count']:,} {kind}"
            + (f" ({'; '.join(entry['examples'])})" if entry["examples"] else "")
            for kind, entry in self.as_dict().items()
        ]
