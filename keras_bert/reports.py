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
        examples = []
        if place is not None:
            examples.append(place.encode(errors="backslashreplace").decode())
        self.merge({kind: {"count": count, "examples": examples}})

    def merge(self, kinds: dict[str, dict]) -> None:
        for kind, more in kinds.items():
            entry = self._kinds.setdefault(kind, {"count": 0, "examples": []})
            entry["count"] += more["count"]
            places = dict.fromkeys(entry["examples"] + more["examples"])
            entry["examples"] = list(places)[:_MOST]

    def as_dict(self) -> dict[str, dict]:
        return dict(sorted(self._kinds.items()))

    def lines(self) -> list[str]:
        """Returns the findings as human-readable lines."""
        lines = []
        for kind, entry in self.as_dict().items():
            line = f"{entry['count']:,} {kind}"
            if entry["examples"]:
                line += f" ({'; '.join(entry['examples'])})"
            lines.append(line)
        return lines
