"""Prompts that an embedder prepends to texts, such as "query: "."""

from typing import Any

from keras_bert.messages import check_one_of

KINDS = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""The names under which prompts of queries and of documents are found, the first one first."""


def prompts_by_name(prompts: Any, default_prompt_name: Any) -> dict[str, str]:
    """Returns prompts by name; None is a dict without any."""
    if prompts is None:
        prompts = {}
    is_dict = isinstance(prompts, dict)
    if not is_dict or not all(isinstance(text, str) for text in (*prompts, *prompts.values())):
        raise ValueError(
            f"prompts must be a dict of strings, such as {{'query': 'query: '}}; got {prompts!r}."
        )
    check_one_of("default_prompt_name", default_prompt_name, (*prompts, None))
    return dict(prompts)


def prompt_of(prompts: dict[str, str], kind: str) -> str:
    """Returns the prompt of `"query"` or `"document"`, "" if there is none."""
    for name in KINDS[kind]:
        if name in prompts:
            return prompts[name]
    return ""
