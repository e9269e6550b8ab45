"""A covering array: runs that meet every pair of levels which no refusal names."""

import itertools
import random


def matches(run, levels):
    """Whether a run, perhaps a part of one, has one of the levels given for each factor."""
    return all(name in run and run[name] in wanted for name, wanted in levels.items())


def pairs_of(run):
    """The pairs of levels that a run meets."""
    return set(itertools.combinations(sorted(run.items(), key=lambda item: item[0]), 2))


def all_pairs(factors):
    """All pairs of levels of two different factors."""
    names = sorted(factors)
    return {
        ((a, one), (b, other))
        for a, b in itertools.combinations(names, 2)
        for one in factors[a]
        for other in factors[b]
    }


class Covering:
    """Makes runs one by one, each of which meets many pairs that none before it met.

    Args:
        factors: `{name: levels}`.
        forbidden: a list of `{name: levels}`, which no run may have together.
        seed: int.
    """

    def __init__(self, factors, forbidden, seed):
        self.factors, self.forbidden = factors, forbidden
        self.random = random.Random(seed)
        self.left = all_pairs(factors)
        self.impossible = set()  # pairs that no run can meet

    def is_allowed(self, run, name=None):
        rules = self.forbidden if name is None else [r for r in self.forbidden if name in r]
        return not any(matches(run, rule) for rule in rules)

    def complete(self, run, gain):
        """Fills the factors that a run lacks, each with the allowed level of the largest gain.

        Factors with the fewest allowed levels come first, so that few ends are dead ones; None at
        a dead end.
        """
        run = dict(run)
        while len(run) < len(self.factors):
            allowed = {
                name: [v for v in levels if self.is_allowed({**run, name: v}, name)]
                for name, levels in self.factors.items()
                if name not in run
            }
            tightness = {name: len(v) / len(self.factors[name]) for name, v in allowed.items()}
            name = min(allowed, key=lambda n: (tightness[n], self.random.random()))
            if not allowed[name]:
                return None
            gains = [(gain(run, name, level), self.random.random()) for level in allowed[name]]
            run[name] = allowed[name][gains.index(max(gains))]
        return {name: run[name] for name in self.factors}

    def gain(self, run, name, level):
        """The number of new pairs that a level meets in a part of a run."""
        item = (name, level)
        return sum(tuple(sorted((item, other))) in self.left for other in run.items())

    def __iter__(self):
        for pair in sorted(self.left, key=str):
            if not self.is_allowed(dict(pair)):
                self.left.remove(pair)
        while self.left:
            pair = self.random.choice(sorted(self.left, key=str))
            tries = (self.complete(dict(pair), self.gain) for _ in range(30))
            run = next((run for run in tries if run is not None), None)
            if run is None:
                self.impossible.add(pair)
                self.left.remove(pair)
                continue
            self.left -= pairs_of(run)
            yield run
