"""Words of every script as they are counted, compared and searched, and where sentences end without a full stop."""

import pytest

from crag.index.lexical import stems
from crag.retrieval.ranking import search_terms
from crag.text.sentences import sentences
from crag.text.words import count_words, keywords, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("北京大学在哪里？", ["北京", "京大", "大学", "学在", "在哪", "哪里"]),
        ("東京タワー, 2024年", ["東京", "京タ", "タワ", "ワー", "2024", "年"]),
        ("ｶﾀｶﾅ Ｆｕｌｌ ﬁle", ["カタ", "タカ", "カナ", "full", "file"]),
        ("서울에서 만나요", ["서울", "울에", "에서", "만나", "나요"]),
        ("เป็น", ["เป็", "ป็น"]),
        ("မြန်မာစာ", ["မြန်", "န်မာ", "မာစာ"]),
        ("हिन्दी में प्रश्न", ["हिन्दी", "में", "प्रश्न"]),
        ("مُحَمَّدٌ كتـــاب", ["محمد", "كتاب"]),
        ("שָׁלוֹם", ["שלום"]),
        ("Naïve café’s", ["naïve", "café", "s"]),
        ("a line of 北京大\n学 goes on", ["a", "line", "of", "北京", "京大", "大学", "goes", "on"]),
    ],
)
def test_words_of_a_script_without_spaces_are_pairs_of_letters(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_a_raised_figure_joins_no_figure_before_it() -> None:
    assert words("250² and 1½, H₂O and m²") == ["250", "2", "and", "1", "1", "2", "h2o", "and", "m2"]
    assert "2502" not in stems("250²")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("路德的著作什么时候传播到法国？", "路德的著作广为流传，早在 1519 年就传到了法国。"),
        ("राजधानी कहाँ है?", "नई दिल्ली भारत की राजधानी है।"),
        ("เมืองหลวงของประเทศไทยคืออะไร", "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"),
        ("서울은 언제 수도가 되었나?", "1394년에 서울이 수도로 정해졌다."),
        ("أين كتاب محمد؟", "هذا كِتَابُ مُحَمَّدٍ القديم"),
        ("Когда была построена крепость?", "Крепости построены давно."),
    ],
)
def test_a_question_shares_stems_with_the_text_that_answers_it(question: str, text: str) -> None:
    asked = {stem for term in search_terms(question) for stem in stems(term)}
    assert asked & set(stems(text))


def test_a_keyword_keeps_the_vowels_of_its_script() -> None:
    assert next(each.text for each in keywords("दिल्ली में कौन रहता है")).startswith("दिल्ली")


def test_a_letter_of_a_script_without_spaces_counts_as_a_word_with_its_marks() -> None:
    assert (count_words("北京大学"), count_words("เป็น"), count_words("서울에서 만나요")) == (4, 3, 2)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("路德的著作。学生们涌入？他说！", 3),
        ("राम घर गया। सीता ने क्या कहा? वह चली गई।", 3),
        ("نشر لوثر كتابه. ثم سافر إلى روما. هل عاد؟ نعم!", 4),
        ("د. أحمد جاء اليوم. وذهب.", 2),
        ("서울은 수도이다. 부산은 항구다.", 2),
        ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทยและมีประชากรมากที่สุดในประเทศ มีแม่น้ำเจ้าพระยาไหลผ่าน", 1),
        (f"{'กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทยและมีประชากรมากที่สุดในประเทศ ' * 3}มีแม่น้ำเจ้าพระยาไหลผ่าน", 2),
        ("ราคา 50 บาท ต่อคน", 1),
        ("The value of 3.5 is high. It is 4.", 2),
        ("Am 28. Mai 2012 kam der Sturm. Es war spät.", 2),
        ("Der 2. Vorsitzende kommt zum 3. Fest am 5. Juli. Es beginnt um 8.", 2),
        ("Er zahlt Kosten, z. B. Miete. Narodil se 3. října 1998 v Praze.", 2),
        ("It was 12. Revenue rose in 2019, see page 5. I am 30. My son is 5.", 4),
        ("Chair: Prof.Dr. Ada Bell. It begins at 9.", 2),
        ("4.7. Modules\nNo module ships without its source. It rose to 4.7. The rest fell.", 4),
    ],
)
def test_a_sentence_ends_as_its_script_ends_it(text: str, count: int) -> None:
    assert len(sentences(text)) == count
