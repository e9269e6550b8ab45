import pytest

from keras_bert.corpus.wikitext import wikitext_passages

PROSE = "This is a sentence of prose."


@pytest.mark.parametrize(
    "text, passage",
    [
        (
            "A '''bold''' and ''slanted'' [[word]] in [[Some page#part|links]].",
            "A bold and slanted word in links.",
        ),
        ("Towns[[File:a.jpg|thumb|A [[nested]] caption.]] grow.", "Towns grow."),
        ("Towns[[Datei:a.jpg|mini|Bild.]] grow.[[Category:X]][[fr:Ville]]", "Towns grow."),
        ("In [[Ben-Hur: A Tale|Ben-Hur]] and [[CSI: Miami]].", "In Ben-Hur and CSI: Miami."),
        ("See [[:Category:Towns|towns]] and [[:Kategorie:X]].", "See towns and Kategorie:X."),
        ("An [http://x.org outside link] and [//x.org] here.", "An outside link and here."),
        ("It{{a|b={{c|{{{1|}}}}}}} is{{convert|5|km}}.", "It is."),
        ("It<ref>{{cite|x}} == | y</ref> is<ref name=a/>.<ref name='b'>z</ref>", "It is."),
        ("It<!-- a {{ --> is&nbsp;so &ndash; <b>yes</b><br/>now.", "It is\xa0so – yes now."),
        ("The (; {{lang|el|x}}, born 19) poet ( ) died , late .", "The (born 19) poet died, late."),
        ("A smile :) stays, and one ,) too.", "A smile :) stays, and one ,) too."),
        ("Energy <math>E == mc^{2}</math> is [c. 9].", "Energy is [c. 9]."),
        ("The sum x < 5 and y > 3 holds.", "The sum x < 5 and y > 3 holds."),
        ("D'Artagnan's ''''l'été'''' was 'hot'.", "D'Artagnan's l'été was 'hot'."),
        ("An [http://a b [c] d.", "An b [c d."),
        ("An [http://a b\nc] d.", "An [http://a b c] d."),
        ("It (;,  ; ) is , ;) so ( ;born) here.", "It is, ;) so (born) here."),
        ("It ( ( ) ) is.", "It ( ) is."),
        ("A <ref>a<math></ref></math><ref><math><ref></math></ref>b</ref>.", "A b."),
        ("A &#00000065;&#000000000000000000000000000000000066 c.", "A AB c."),
        (f"A &#{'9' * 5000}; c.", "A \ufffd c."),
        ("Towns[[File:a.jpg|thumb|A [[x|nested [[y]]]] caption.]] grow.", "Towns grow."),
        ("See [[:Category:A|B]] and [[a:b|c]].", "See B and c."),
    ],
)
def test_marks_are_dropped_and_their_text_stays(text, passage):
    assert wikitext_passages(text, frozenset(["datei", "kategorie"])) == ([passage], 0)


@pytest.mark.parametrize(
    "text",
    [
        "== Heading ==",
        "* item one.\n** item two.\n# number.\n: indented.\n; term.",
        "{| class=x\n|-\n! Head.\n| cell. || cell.\n{|\n| nested.\n|}\n| Rest.\n|}",
        "{{Infobox\n| name = {{a}}\n| text = Many words.\n{| \n| table in a template.\n|}\n}}",
        "<table><tr><td>Cell.<table><td>Inner.</td></table></td></tr></table>",
        "<gallery>\nFile:a.jpg|A picture.\n</gallery>",
        "<references>\n<ref name=x>A book.</ref>\n</references>",
        "<syntaxhighlight lang=c>\nint a. {{ [[\n</syntaxhighlight>",
        "[[File:a.jpg|thumb|A caption\nover two lines.]]",
        "----\n__NOTOC__\nThe following are:",
        "{{unclosed|{{closed}}\n|a=b",
    ],
)
def test_everything_but_prose_is_dropped(text):
    passages, _ = wikitext_passages(f"{PROSE}\n\n{text}\n\n{PROSE}")
    assert passages == [PROSE, PROSE] or ("unclosed" in text and passages[-1] == PROSE)
    assert all("{" not in passage and "|" not in passage for passage in passages)


def test_lines_without_a_blank_line_are_one_paragraph():
    text = "One line\nand another.\n\nA third."
    assert wikitext_passages(text) == (["One line and another.", "A third."], 0)


@pytest.mark.parametrize(
    "text",
    [
        "Brackets [[never closed.",
        "Braces never {{closed.",
        "Closed]] twice.",
        "A <ref>b</ref c.<ref>d</ref> e.",
        "[[a" * 60 + "]]" * 60 + ".",
        "[[open " * 60 + "It is [[so|here]].",
    ],
)
def test_passages_with_markup_left_are_counted(text):
    assert wikitext_passages(f"{PROSE}\n\n{text}\n\n{PROSE}") == ([PROSE, PROSE], 1)
