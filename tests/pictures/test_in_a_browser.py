"""The page of attention in a real browser: it loads without errors, and answers to the mouse."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from keras_bert.pictures.attention_view import AttentionView

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
TOKENS = ["[CLS]", "a", "</p><b>", "[SEP]"]
SCRIPT = """
<script>
const errors = [];
window.onerror = message => { errors.push(String(message)); };
window.addEventListener("load", () => setTimeout(() => {
  const found = {};
  const look = name => {
    const lines = [...document.querySelectorAll("line")];
    found[name] = lines.map(line => [
      Number(line.getAttribute("y1")), Number(line.getAttribute("y2")), line.getAttribute("stroke"),
    ]);
  };
  const token = document.querySelectorAll("text")[1];
  const heads = document.querySelectorAll(".head");
  look("first");
  token.dispatchEvent(new MouseEvent("mouseenter"));
  look("hovered");
  found.faded = document.querySelectorAll(".token.faded").length;
  token.dispatchEvent(new MouseEvent("mouseleave"));
  look("left");
  heads[0].click();
  look("without head 0");
  heads[0].dispatchEvent(new MouseEvent("dblclick"));
  look("head 0 alone");
  const select = document.getElementById("layer");
  select.value = 1;
  select.dispatchEvent(new Event("change"));
  look("layer 1");
  found.tokens = [...document.querySelectorAll("text")].map(text => text.textContent);
  found.errors = errors;
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify(found);
  document.body.append(result);
}, 100));
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="apt-get install chromium")
def test_the_page_answers_to_the_mouse(tmp_path):
    probabilities = np.zeros((2, 2, 4, 4), "float32")
    probabilities[0, 0] = np.eye(4)  # tokens attend to themselves
    probabilities[0, 1, :, 0] = 1.0  # and in the other head to [CLS]
    probabilities[1, :, :, 3] = 1.0
    page = AttentionView(TOKENS, [0, 0, 0, 0], probabilities, layer=0, heads=[0, 1]).html()
    path = tmp_path / "view.html"
    path.write_text(page.replace("<body>", f"<body>{SCRIPT}"), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [
        f"--user-data-dir={tmp_path}/profile",
        "--virtual-time-budget=5000",
        path.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    [text] = re.findall(r'<pre id="result">(.*?)</pre>', done.stdout, flags=re.DOTALL)
    found = json.loads(html.unescape(text))
    assert found["errors"] == [] and found["tokens"] == TOKENS * 2

    def of_lines(state, index):
        return [line[index] for line in found[state]]

    places = sorted(set(of_lines("first", 0)))
    assert len(places) == 4 and len(found["first"]) == 8 == len(found["left"])
    assert of_lines("hovered", 0) == [places[1]] * 2
    assert found["faded"] == 3 + 2  # the other tokens on the left, and those it doesn't attend to
    assert set(of_lines("without head 0", 1)) == {places[0]}
    assert of_lines("head 0 alone", 1) == places
    assert of_lines("layer 1", 1) == [places[3]] * 4
    assert len(set(of_lines("first", 2))) == 2  # a color for each head
