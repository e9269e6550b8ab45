"""Prompts that an embedder prepends to texts, such as "query: "."""

from __future__ import annotations

import difflib
from typing import Any

KINDS = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""The names under which prompts of queries and of documents are found, the first one first."""


def checked_prompts(prompts: Any, default_prompt_name: Any) -> dict[str, str]:
    """Returns prompts by name; None is a dict without any."""
    prompts = {} if prompts is None else prompts
    is_dict = isinstance(prompts, dict)
    if not is_dict or not all(isinstance(t, str) for pair in prompts.items() for t in pair):
        raise ValueError(
            "prompts must be a dict of strings by name, such as {'query': 'query: ', 'document': "
            f"'passage: '}}; got {prompts!r}."
        )
    if default_prompt_name is not None:
        check_prompt(prompts, default_prompt_name)
    return dict(prompts)


def check_prompt(prompts: dict[str, str], name: Any) -> None:
    """Raises a ValueError unless a prompt has this name."""
    if isinstance(name, str) and name in prompts:
        return
    near = difflib.get_close_matches(str(name), prompts, 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    known = ", ".join(map(repr, prompts)) or "none"
    raise ValueError(f"There is no prompt {name!r}; the prompts are {known}.{hint}")


def prompt_of(prompts: dict[str, str], kind: str) -> str:
    """Returns the prompt of `"query"` or `"document"`, "" if there is none."""
    return next((prompts[name] for name in KINDS[kind] if name in prompts), "")
