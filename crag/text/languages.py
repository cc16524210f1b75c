"""Whether a text is in another language than a question, where that can be recognised by script or by English words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

ELSEWHERE: dict[str, tuple[str, ...]] = {
    "orders": (
        r"\b(?:ignorier\w*|vergiss|vergessen|missachte\w*|verwirf|"
        r"beachte\w* nicht)\b[^.!?\n]{0,30}\b(?:vorherig\w*|bisherig\w*|obig\w*|vorig\w*|"
        r"vorangegangen\w*|vorangehend\w*|fruher\w*|all\w*)\b[^.!?\n]{0,20}\b(?:anweisung\w*|instruktion\w*|"
        r"befehl\w*|vorgabe\w*|prompts?|regeln|oben)",
        r"\b(?:ignore[rz]?|oublie[rz]?|neglige[rz]?)\b[^.!?\n]{0,30}\b(?:instructions?|consignes?|directives?|"
        r"ordres?)\b[^.!?\n]{0,12}"
        r"\b(?:precedent\w*|ci-dessus|anterieur\w*|plus haut|initiales?|avant)",
        r"\b(?:ignor[ae][dn]?|ignorar|olvid[ae][dn]?|olvidate de|haz caso omiso de|descart[ae])\b[^.!?\n]{0,30}"
        r"\b(?:instrucciones|indicaciones|ordenes|mensajes)\b[^.!?\n]{0,12}\b(?:anterior\w*|previas?|de arriba|"
        r"precedentes)",
        r"\b(?:ignor[ai](?:te)?|dimentica(?:te|re)?|trascura(?:te)?)\b[^.!?\n]{0,30}\b(?:istruzioni|indicazioni|"
        r"ordini|comandi)\b"
        r"[^.!?\n]{0,12}\b(?:precedent\w*|di cui sopra|sopra|ricevute)",
        r"\b(?:ignor[ae]m?|esquec[ae]m?|desconsider[ae]m?)\b[^.!?\n]{0,30}\b(?:instrucoes|ordens|comandos|"
        r"orientacoes)\b"
        r"[^.!?\n]{0,12}\b(?:anterior\w*|acima|previas?)",
        r"\b(?:negeer|vergeet)\b[^.!?\n]{0,20}\b(?:vorige|voorgaande|bovenstaande|eerdere|"
        r"alle)\b[^.!?\n]{0,15}\b(?:instructies|opdrachten|aanwijzingen)",
        r"\b(?:zignoruj\w*|zapomnij\w*)\b[^.!?\n]{0,20}\b(?:poprzedni\w*|powyzsz\w*|"
        r"wczesniejsz\w*)\b[^.!?\n]{0,15}\b(?:instrukcj\w*|polece\w*)",
        r"\b(?:ignorera|glom)\b[^.!?\n]{0,20}\b(?:tidigare|ovanstaende|"
        r"foregaende)\b[^.!?\n]{0,15}\b(?:instruktioner|anvisningar)",
        r"\b(?:игнорируй\w*|проигнорируй\w*|забудь\w*)\b[^.!?\n]{0,30}\b(?:инструкци\w*|указани\w*|команд\w*|"
        r"вс[её], что)",
        r"\bonceki\b[^.!?\n]{0,20}\b(?:talimatlar\w*|komutlar\w*)\b[^.!?\n]{0,20}\b(?:yok say\w*|gormezden gel\w*|"
        r"unut\w*|dikkate alma\w*)",
        r"(?:忽略|无视|無視|忘记|忘記|不要理会|不要遵循).{0,10}(?:指令|指示|说明|說明|提示|命令)",
        r"(?:指示|命令|指令|プロンプト)(?:を|は)?(?:すべて|全て|全部)?(?:無視|忘れ)",
        r"(?:지시|명령|지침|프롬프트).{0,6}(?:무시|잊어)",
        r"تجاهل.{0,14}(?:التعليمات|الأوامر|التوجيهات)",
        r"निर्देश.{0,14}(?:अनदेखा|नज़रअंदाज़|भूल)",
    ),
    "role": (
        r"\b(?:du bist|sie sind) (?:jetzt|nun|ab sofort|ab jetzt) (?:ein|eine|der|die|das|kein)\b",
        r"\b(?:tu es|vous etes) (?:maintenant|desormais) (?:un|une|le|la)\b|\bahora eres (?:un|una|el|la)\b|"
        r"\bora sei (?:un|una|il|la)\b",
        r"\b(?:hinweis|nachricht|anweisung|note|message|instructions?|mensaje|instruccion(?:es)?|nota) (?:an|fur|a|"
        r"au|aux|pour|para)\b[^.!?\n]{0,12}"
        r"\b(?:ki|ki-modelle?|sprachmodelle?|ia|modeles? de langage|modelos? de lenguaje|asistentes? de ia|"
        r"intelligence artificielle)\b",
        r"你现在是|你現在是|从现在开始,?你|あなたは今から",
    ),
    "verdict": (
        r"\b(?:bewerte|stufe|markiere)\b[^.!?\n]{0,40}\b(?:relevant|hochst\w*|1[.,]0|korrekt)\b",
        r"\b(?:note[rz]?|evalue[rz]?|califica|puntua|evalua)\b[^.!?\n]{0,40}\b(?:pertinente?|relevante|1[.,]0|"
        r"maxim\w*)\b",
    ),
    "reply": (
        r"\b(?:antworte\w*|schreibe?|sage?)\b (?:\w+ ){0,3}(?:nur|ausschliesslich|immer|stets|lediglich)\b",
        r"\b(?:in|zu|mit|an) (?:deiner|ihrer|deine|ihre) (?:antwort|ausgabe)\b",
        r"\b(?:repond[sz]?|repondez|ecri[st]|ecrivez|dis|dites) (?:\w+ ){0,3}(?:uniquement|seulement|toujours|"
        r"exclusivement)\b",
        r"\b(?:dans|a|de|avec) (?:ta|votre) (?:reponse|sortie)\b",
        r"\b(?:responde[rd]?|responda|contesta|escribe|escreva|di|diga) (?:\w+ ){0,3}(?:solo|unicamente|solamente|"
        r"siempre|apenas|somente|sempre)\b",
        r"\b(?:en|a|con|em|na|a) (?:tu|su|sua) (?:respuesta|resposta)\b",
        r"\b(?:rispondi|rispondete|scrivi) (?:\w+ ){0,3}(?:solo|soltanto|sempre|esclusivamente)\b",
        r"\b(?:antwoord) (?:\w+ ){0,3}(?:alleen|uitsluitend|altijd)\b|\b(?:отвечай\w*|ответь\w*|"
        r"напиши\w*) (?:\w+ ){0,2}(?:только|всегда)\b",
        r"(?:只|仅|僅|必须|必須)(?:回答|回复|回覆|输出|輸出)|とだけ(?:答え|返信|出力)|(?:라고만|만) (?:대답|답변)",
    ),
}
"""Anywhere in a sentence, in other languages: the commonest ways."""


_ENGLISH = frozenset(
    """the of and to that with for from this these those which were are has have had by it its their they would
    could should not been there what how when where who why did does""".split()
)
"""Words that any English text holds; those that are words of other languages too are few among them."""
_GERMAN = frozenset(
    """der die das dem den und im am ist war waren wurde wurden hat hatte haben ein eine einer wie was wer wo wann
    warum welche welcher welches für von nicht sich mit auf es zum zur""".split()
)
"""Words of German questions; an English one that holds two of them holds English ones too."""
_WORDS, _LETTERS = 12, 10
"""From how many words or letters on an answer tells its language."""
_MOST = 0.02
"""The share of such words up to which a text is not English; in English it is about a quarter."""


def other_language(asked: str, said: str) -> bool:
    """Whether `said` is surely in another language than `asked`. Of two languages in one script only English is known.

    False where it can't be known: for few words, or for a question that is not English.
    """
    if (said_in := _script(said)) and (asked_in := _script(asked)) and said_in != asked_in:
        return True
    words = re.findall(r"[^\W\d_]+", said.casefold())
    if len(words) < _WORDS or _english(re.findall(r"[^\W\d_]+", asked.casefold())) < 0.1:
        return False
    return _english(words) <= _MOST


def is_german(text: str) -> bool:
    """Whether a question is German, where every noun is written as a name is."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    return sum(word in _GERMAN for word in words) > 1 and not any(word in _ENGLISH for word in words)


def _english(words: list[str]) -> float:
    return sum(word in _ENGLISH for word in words) / len(words) if words else 0.0


def _script(text: str) -> str:
    """The script of most letters, as Unicode names it; nothing where there are few, or several."""
    letters = [each for each in text[:4000] if each.isalpha()]
    if len(letters) < _LETTERS:
        return ""
    [(script, count)] = Counter(unicodedata.name(each, "?").split()[0] for each in letters).most_common(1)
    script = "CJK" if script in ("CJK", "HIRAGANA", "KATAKANA") else script
    return script if count > 0.6 * len(letters) else ""
