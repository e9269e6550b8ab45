"""Entities and answers marked in their texts."""

import re

import numpy as np
import pytest

from keras_bert.pictures import show_answers

FOUND = {
    "entity_start": np.array([0, 14]),
    "entity_end": np.array([3, 19]),
    "entity_type": ["PER", "LOC"],
    "entity_score": np.array([0.5, 0.75]),
}
QUESTION = {"question": "Where <now>?", "context": "It is in Paris & cold."}


def marks(page):
    return re.findall(r'<mark style="background: (\S+)"(?: title="(.*?)")?>(.*?)</mark>', page)


def test_entities_are_marked_by_type():
    none = {name: value[:0] for name, value in FOUND.items()}
    page = show_answers(["Ada Lovelace, Paris", "a < b"], [FOUND, none]).html()
    (one, _, ada), (other, score, paris) = marks(page)
    assert (ada, paris) == ("Ada<small>PER</small>", "Paris<small>LOC</small>")
    assert one != other and score == "0.750"
    assert " Lovelace, <mark" in page and "<p>a &lt; b</p>" in page


def test_answers_are_marked_in_their_contexts(tmp_path):
    answer = {"answer": "Paris", "start": 9, "end": 14, "score": 0.25}
    view = show_answers(QUESTION, answer)
    view.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert [found[1:] for found in marks(page)] == [("0.250", "Paris")]
    assert "Where &lt;now&gt;?" in page and "</mark> &amp; cold." in page
    assert view._repr_html_() in page
    empty = show_answers([QUESTION], [{"answer": "", "start": 0, "end": 0}]).html()
    assert "no answer in the text" in empty and not marks(empty)


def test_marks_may_come_in_any_order():
    turned = {name: value[::-1] for name, value in FOUND.items()}
    text = "Ada Lovelace, Paris"
    assert show_answers(text, turned).html() == show_answers([text], [FOUND]).html()


@pytest.mark.parametrize("starts, ends", [([0, 1], [3, 2]), ([-5, 0], [-2, 3]), ([0, 5], [3, 99])])
def test_spans_that_overlap_or_leave_the_text_are_refused(starts, ends, refused):
    spans = {**FOUND, "entity_start": np.array(starts), "entity_end": np.array(ends)}
    refused(f"{starts[0]}.*{ends[1]}.*Ada", show_answers, "Ada Lovelace, Paris", spans)


def test_what_has_no_spans_is_refused(refused):
    refused("2 texts but 1 answers", show_answers, ["a", "b"], [FOUND])
    with pytest.raises(ValueError, match="got a list and an answer with label"):
        show_answers([["a", "word"]], [{"label": ["O", "O"]}])
    with pytest.raises(ValueError, match="got a str and an answer with label, probabilities"):
        show_answers("a", {"label": "good", "probabilities": [0.5, 0.5]})
