"""Pages and heat maps of attention."""

import base64
import html
import json
import re

import numpy as np
import pytest

from keras_bert import BertBackbone, BertPreprocessor, BertPretrainer, BertTokenizer
from keras_bert.pictures import show_attention

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] rain in spain < / script >".split()


@pytest.fixture(scope="module")
def model():
    backbone = BertBackbone(len(WORDS), 3, 2, 8, 16, max_sequence_length=12)
    return BertPretrainer(backbone, preprocessor=BertPreprocessor(BertTokenizer(WORDS), 8))


def data_of(page):
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(text)


def test_the_page_holds_the_probabilities(model, tmp_path):
    view = show_attention(model, "Rain in Spain", "in rain", layer=1, head=1)
    assert view.tokens == "[CLS] rain in spain [SEP] in rain [SEP]".split()
    ids, segments = np.array([[2, 5, 6, 7, 3, 6, 5, 3]]), np.array([[0] * 5 + [1] * 3])
    found = model.backbone.attention_probabilities({"token_ids": ids, "segment_ids": segments})
    np.testing.assert_array_equal(np.concatenate(found), view.probabilities)
    view.probabilities[:, :, 0, 0] = 1  # the largest byte
    view.save(tmp_path / "view.html")
    data = data_of((tmp_path / "view.html").read_text())
    assert data["tokens"] == view.tokens and data["segments"] == [0] * 5 + [1] * 3
    assert (data["layer"], data["shown_heads"]) == (1, [1])
    found = np.frombuffer(base64.b64decode(data["probabilities"]), "uint8").reshape(3, 2, 8, 8)
    assert np.abs(found / 255 - view.probabilities).max() <= 0.5 / 255 + 1e-6


def test_markup_in_a_text_stays_text(model):
    view = show_attention(model, "</script>", head=0)
    assert view.tokens == ["[CLS]", "<", "/", "script", ">", "[SEP]"]
    page = view.html()
    assert page.count("</script>") == 2  # those of the page
    assert data_of(page)["tokens"] == view.tokens
    frame = view._repr_html_()
    assert frame.startswith("<iframe") and frame.count("<") == 2  # the page is escaped within
    assert html.escape(page) in frame
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https" not in page


def test_what_cannot_be_shown_is_refused(model, refused):
    for arguments, message in (
        ((["rain"],), r"text is \['rain'\], not a string"),
        (("rain " * 11,), "number of tokens must be at most 12; got 13"),
        (("rain", None, 3), "layer must be at most 2; got 3"),
        (("rain", None, 0, 2), "head must be at most 1; got 2"),
    ):
        refused(message, show_attention, model, *arguments)
