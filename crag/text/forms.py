"""How sentences are put that speak to a language model: regular expressions over folded text, by what they are after.

`FIRST` are matched where a sentence begins, `OPENING` also where an order may begin within one, and `ANYWHERE` are
searched. Folded text is lower case and has no accents (`crag.text.guard`).
"""

from __future__ import annotations

_GAP = r"[^\w.!?。！？]{1,4}"
"""What stands between two words of one thing that is said."""
_FEW = rf"(?:\w+{_GAP}){{0,4}}"
_ON = r"(?:[^.!?\n]|[.!?](?=[\w\"'”’/@]))"
"""A character of one sentence: addresses and quotations have stops within."""
_SOME = rf"{_ON}{{0,90}}?"
_SET_ASIDE = (
    r"(?:ignore|disregard|forget|override|overwrite|bypass|discard|dismiss|neglect|skip|omit|drop|cancel|erase|"
    r"abandon|(?:do not|don'?t|never|stop|no longer|cease)\s(?:to\s)?(?:follow|following|obey|obeying|listen(?:ing)? "
    r"to|adhere to|pay(?:ing)? attention to|comply(?:ing)? with|use|using)|pay no (?:attention|heed) to|set aside|put "
    r"aside|leave aside|throw away|wipe|unlearn)"
)
_EARLIER = (
    r"(?:previous(?:ly)?|prior|above|preceding|earlier|foregoing|aforementioned|all|any|every|everything|anything|"
    r"other|whatever|your|system|initial|original|existing|given|current|former|past|these|those|the other|before|my|"
    r"what you)"
)
_REPORTED = (
    r"(?:instructions?|prompts?|commands?|directives?|directions?|guidelines?|guardrails?|programming|training|system "
    r"messages?|system rules|rules|constraints?|context|orders|told|messages?|questions?|query|tasks?|restrictions?|"
    r"conversation|(?:the|your) (?:user|user's) (?:question|query|request))"
)
_MODEL = (
    r"(?:ai|a\.i\.|llms?|language models?|large language models?|ai models?|chat ?bots?|chat ?gpt|gpt(?:-?\d\w*)?|"
    r"claude|gemini|copilot|llama|ai assistants?|ai agents?|ai systems?|virtual assistants?|digital assistants?|"
    r"artificial intelligences?|assistant|neural networks?|summari[sz]ers?|retrieval evaluators?|grader|rag systems?)"
)
_ANSWER = (
    r"(?:(?:next |final |own |entire |whole |full |generated |following |upcoming )?(?:answers?|responses?|repl(?:y|"
    r"ies)|outputs?|messages?|completions?|generations?|summar(?:y|ies)))"
)
_READS = (
    rf"(?:{_GAP}(?:reading|that reads?|who reads?|processing|assistants?|models?|parsing)(?:{_GAP}(?:this|the|"
    rf"it)(?:{_GAP}\w+)?)?)?"
)
_CHANGE = (
    r"(?:add|adapt|adjust|alter|alternate|amend|anagram|append|attach|augment|base64|begin|blend|capitali[sz]e|change|"
    r"cipher|combine|compose|conceal|conclude|condense|convert|craft|deliver|direct|disguise|double|embed|"
    r"emphasi[sz]e|employ|encipher|encode|encourage|encrypt|end|endorse|enhance|enrich|ensure|express|extend|fill|"
    r"finish|flip|format|garble|generate|give|group|hide|highlight|hint|hyphenate|implement|incorporate|infuse|inject|"
    r"insert|integrate|intersperse|introduce|inver[st]e?|invite|jumble|keep|lace|leave|limit|link|list|lower ?case|"
    r"mask|mention|mirror|misspell|mix|modify|morph|obfuscate|offer|omit|output|place|precede|prefix|present|print|"
    r"produce|promote|prompt|provide|publish|put|randomi[sz]e|rearrange|recommend|refer|remind|remove|render|reorder|"
    r"repeat|rephrase|replace|restrict|return|reverse|rewrite|rotate|scramble|seed|shift|show|shuffle|sign off|slip|"
    r"spell|spin|sprinkle|start|stress|strip|style|substitute|suffix|suggest|supplement|swap|switch|tack|tease|tell|"
    r"transcribe|transform|translate|translit\w{1,12}|transpose|truncate|turn|twist|upper ?case|urge|use|utili[sz]e|"
    r"vary|wrap|weave|work|append)"
)
_SAY = (
    r"(?:say|answer|reply|respond|output|print|write|state|return|repeat|claim|tell|declare|assert|display|give|"
    r"report|produce|emit|echo|type|conclude)"
)
_TEXT = (
    r"(?:passage|document|text|chunk|page|source|context|paragraph|snippet|excerpt|section|article|website|content|"
    r"strip)"
)
_ADDRESS = r"(?:https?:|www\.|@|\w\.(?:com|net|org|io|info|biz|co|example)\b)"
_OF_PAPER = (
    rf"(?!,?\s(?:previously\s)?(?:issued|dated|published|printed|received|given (?:in|on|by)|sent|from|in|of|for|on|at|"
    rf"by|about|if|unless|when|where|until|before (?:you|the)|after|once|that|which|regarding|concerning|relating)\b"
    rf"(?!{_ON}{{0,90}}?\b(?:and|instead|then|but)\b{_GAP}(?:instead{_GAP}|only{_GAP}|just{_GAP})?{_SAY}\b))"
)
"""Not before words that say which rules or papers are meant, or when: such a sentence speaks to people, unless it
goes on to ask for an answer."""
_NO_OF = rf"(?:of{_GAP})?(?:(?!of\b)\w+{_GAP}){{0,4}}"
_FOUND = r"(?:passage|document|text|chunk|source|context|snippet|excerpt|article|content|strip|paragraph|web ?page)"

FIRST: dict[str, tuple[str, ...]] = {
    "orders": (
        r"(?:here are |these are |the following are )?(?:your |the )?(?:new|updated|revised|real|actual|true|secret|"
        r"hidden) (?:system )?(?:instructions?|prompt|task|objective|orders)\s{0,2}:",
    ),
    "role": (
        rf"(?:note|message|notice|attention|instructions?|important|reminder|hint|warning|memo|hey|hello|hi|dear|to|"
        rf"for|listen up)[^\w.!?]{{1,4}}(?:for |to |all |any |the |of |you,? |, |an? |note |message "
        rf"){{0,4}}(?!assistant\b|grader\b){_MODEL}{_READS}\s{{0,2}}[:,!]",
    ),
}
"""Where a sentence or line begins."""

OPENING: dict[str, tuple[str, ...]] = {
    "orders": (
        rf"{_SET_ASIDE}{_GAP}{_FEW}{_EARLIER}{_GAP}{_NO_OF}{_REPORTED}\b{_OF_PAPER}",
        rf"{_SET_ASIDE}{_GAP}(?:the{_GAP})?{_REPORTED}{_OF_PAPER}{_GAP}{_FEW}(?:above|before|earlier|previously|so far|"
        rf"given|you)\b",
        rf"{_SET_ASIDE}{_GAP}{_FEW}(?:everything|anything|all|what)\b{_GAP}{_FEW}(?:(?:came |was |is |stands |written "
        rf"|said |told )?(?:above|before|so far|previously|(?:earlier|prior)(?!\s\w)|until now)|you (?:were|have been|"
        rf"are|know|"
        rf"learned|learnt)(?!\s(?:about|of)\b)|(?:i|we) (?:said|told)|else)\b",
        rf"{_SET_ASIDE}{_GAP}(?:the|all|any|all the|everything){_GAP}(?:above|foregoing|preceding|previous|"
        rf"prior)(?:{_GAP}(?:text|content|and)\b|[^\w\s]|\s*$|\s*\n)",
        rf"{_SET_ASIDE}{_GAP}(?:the{_GAP}|your{_GAP}|all{_GAP}|other{_GAP}){{1,3}}(?:other{_GAP})?(?:instructions?|"
        rf"prompts?|sources?|documents?|passages?|question)\b{_SOME}\b(?:and|instead|then)\b{_GAP}(?:instead{_GAP}|"
        rf"only{_GAP}|just{_GAP})?{_SAY}\b",
    ),
    "role": (
        rf"(?:act|behave|speak|respond|answer|roleplay|role-play|pretend)\b{_GAP}(?:as|like|that|to be|"
        rf"you)\b{_GAP}(?:if{_GAP})?(?:you|an? (?:\w+ ){{0,2}}(?:pirate|{_MODEL}|expert|hacker|person|character|human|"
        rf"persona|robot|linux terminal|terminal|dan))\b",
        rf"(?:reveal|print|repeat|show|output|display|expose|leak|disclose|share|tell me|send|write|list|dump|"
        rf"summari[sz]e|recite)\b{_GAP}{_FEW}(?:your (?:\w+ )?(?:instructions?|prompt|rules|guidelines|configuration|"
        rf"training data)|(?:the )?system (?:prompt|message)|(?:the )?(?:initial|hidden|above|previous) prompt)\b",
    ),
    "verdict": (
        rf"(?:give|assign|award|grant)\b{_GAP}(?:this|the following|the present|the above){_GAP}(?:\w+{_GAP})?{_FOUND}"
        rf"\b{_SOME}\b(?:highest|maximum|top|full|perfect|best|lowest|1\.0|10|100)\b{_SOME}\b(?:score|rating|grade|"
        rf"relevance|marks?|points)\b",
        rf"(?:rate|score|grade|mark|label|classify|judge|consider|treat|rank|assess|deem|evaluate|regard|"
        rf"count)\b{_GAP}(?:(?:this|it|the (?:above|following|present|whole|given|entire))\b(?:{_GAP}(?:\w+{_GAP})"
        rf"{{0,2}}?"
        rf"{_TEXT}s?)?|(?:all|every|each)\b{_GAP}(?:\w+{_GAP})?{_FOUND}s?){_GAP}(?:(?:as|to be|being|is|with|an?|fully|"
        rf"highly|entirely|completely|the|at|of|score|other|others){_GAP}){{0,5}}(?:\b(?:relevant|correct|accurate|"
        rf"authoritative|supported|trustworthy|irrelevant|incorrect|ambiguous|highest|maximum|perfect|full "
        rf"marks)\b|\b(?:1\.0|10|100)\b)",
    ),
    "reply": (
        r"(?:answer|reply|respond) with \W{0,2}\w+\W{0,3}(?:$|\n)",
        r"(?:answer|reply|respond|say it) (?:only )?(?:in|with) (?:just |only |exactly )?(?:one|a single|two|three|"
        r"four|"
        r"five) (?:words?|letters?)\b",
        r"repeat after me\b",
        r"(?:replace|substitute|swap|scramble|reverse|encode|encrypt|encipher|remove|convert|jumble|shuffle|rearrange|"
        r"capitali[sz]e|shift|misspell|anagram|delete|double|drop) (?:(?:every|each|all|the|any|some|random) )?(?:\w+ "
        r"){0,2}(?:letters?|vowels?|consonants?|syllables?) (?:with|by|in|of|to|into|using|for|from)\b",
        rf"{_CHANGE}\b{_ON}{{0,140}}?\b(?:your|every) {_ANSWER}\b",
        rf"(?:include|write|share|make|state|mention|create|develop|apply|perform|set|bring|point|advertis\w{{1,12}}|"
        rf"pitch|draw|address|close|open|drop|compress|communicate|support|break|split|speak|"
        rf"say)\b{_ON}{{0,110}}?\b(?:(?:in|to|into|of|within|with|throughout|inside|across|from|at the (?:start|end|"
        rf"beginning) of|before|after) (?:your|every) {_ANSWER}|your (?:final |next |own )?(?:response|"
        rf"reply|output) (?:in|as|with|by|to|using|like|sound|rhyme|into|only|backwards))\b",
        rf"(?:answer|reply|respond)\b{_GAP}(?:\w+{_GAP}){{0,3}}?(?:nothing but|(?:only|exactly|solely|exclusively)"
        rf"{_GAP}(?:with|by saying|the (?:word|words|phrase|name|following)|yes|no|in (?:english|french|german|spanish|"
        rf"italian|latin|russian|chinese|japanese)|[\"'“‘«:]))",
        rf"(?:answer|reply|respond)\b{_GAP}(?:to (?:any|every|all|each|this|the)\b{_ON}{{0,50}}? )?(?:with (?:the "
        rf"(?:word|words|phrase|sentence|text|number|string|name|following|code)|a single|one word|[\"'“‘«*])|in "
        rf"(?:english|french|german|spanish|italian|latin|russian|chinese|japanese|base64|morse|rot13|pig latin|all "
        rf"caps|capital|uppercase|lowercase|rhyme|emojis?|verse|json|haiku|the style)|as (?:if|though|an?|json)|like "
        rf"an?|using (?:only|the words?)|[\"'“‘«]|that {_ON}{{0,80}}?\b(?:whatever|regardless|always|only)\b|in "
        rf"(?:the )?(?:same )?(?:language|voice|style))",
        rf"(?:say|print|output|write|state|return|repeat|emit|echo|type|display|append|insert|add|include|mention|"
        rf"use)\b{_GAP}(?:only{_GAP}|just{_GAP}|exactly{_GAP}|back{_GAP}|out{_GAP}|with{_GAP})?(?:the{_GAP}|"
        rf"this{_GAP})?(?:exact{_GAP}|following{_GAP}|secret{_GAP}|code{_GAP}|single{_GAP}|magic{_GAP}){{0,2}}(?:word|"
        rf"words|phrase|string|token|sentence|code|codeword|password|passphrase|canary)"
        rf"\b{_SOME}(?:[\"'“‘«*:]\s?\w+\W{{0,4}}(?:$|\n)|"
        rf"\b(?:somewhere|first|instead|only|three times|twice|and nothing|nothing else|at the (?:start|end|"
        rf"beginning)|in (?:the|your)|before|times|when)\b)",
        rf"(?:say|print|output|answer|reply|respond|write|return|state)\b{_SOME}\b(?:and nothing (?:else|more)|"
        rf"nothing (?:else|more)|and no other (?:word|text)|no (?:explanation|other text)|instead of "
        rf"(?:answer\w*|(?:an|the|your) (?:answer|reply))|in place of (?:an|the|your) answer|without (?:any )"
        rf"?(?:explanation|comment)|no "
        rf"matter what|whatever (?:the|is|you|was)|regardless of (?:the question|what))\b",
        rf"(?:convince|persuade|mislead|trick)\b{_GAP}(?:the|your|all|any|every|our){_GAP}(?:users?|readers?)\b",
        rf"(?:tell|inform|advise|instruct|urge|ask|direct|redirect|encourage|remind|warn|notify|invite|prompt|refer|"
        rf"point|get|assure|guide|lead|send)\b{_GAP}(?:the|your|all|any|every|our){_GAP}(?:users?|readers?)"
        rf"\b{_GAP}{_FEW}"
        rf"(?:that|to|of|about|how|who)\b{_ON}{{0,90}}?(?:{_ADDRESS}|\banswers?\b|\bthis (?:{_TEXT}) (?:is|was)\b)",
        rf"(?:do not|don'?t|never|refuse to|avoid)\b{_GAP}(?:answer(?:ing)?|reply(?:ing)? to|respond(?:ing)? to|cite|"
        rf"citing|quote|quoting|use|using|trust|mention|mentioning|reveal|include)\b{_GAP}{_FEW}(?:(?:the|this|"
        rf"that|user'?s?)(?: \w+)? (?:question|query|prompt)s?|(?:other|these|the other|any other|any|all other) "
        rf"(?:sources?|passages?)|(?:this|these) instructions?)\b",
    ),
}
"""Where an order may begin: there, or behind what orders are introduced with."""

ANYWHERE: dict[str, tuple[str, ...]] = {
    "orders": (
        r"\bthe user has changed (?:their|his|her) minds?\b|\bno longer wants? an answer\b",
        rf"\b{_SET_ASIDE} (?:the|this|that) (?:current |user'?s? |original )?(?:question|query|request|"
        rf"task)\b{_SOME}\b(?:and|instead|then)\b{_GAP}(?:(?:\w+ly|instead|only|just){_GAP})?{_SAY}\b",
    ),
    "role": (
        rf"\b(?:language models?|chat ?bots?|ai (?:assistants?|models?|agents?|systems?)|llms?|automated readers?|"
        rf"ais)\b{_ON}{{0,60}}? (?:must|should|shall|have to|are to|need to|only)\b{_GAP}{_FEW}(?:{_SAY}|{_CHANGE}|"
        rf"reproduce|mention|include)\b",
        r"\bas an? (?:\w+ ){0,2}(?:language model|ai|assistant|chatbot|llm),? (?:you|your)\b|\bas the assistant,? "
        r"(?:you|your)\b",
        rf"\bsystem override\b{_SOME}(?:[:.]|accepted|code)",
        r"<\|?(?:im_start|im_end|system|user|assistant|endoftext|end_of_text|eot_id|start_header_id|begin_of_text)\|?>",
        r"<</?sys>>|\[/?inst\]|</(?:source|text|question|sentence|document|system_?prompt|instructions?)>",
        r"(?:^|\n)\s{0,3}(?:#{1,4} ?|\[|\*\*)?(?:system|assistant|developer)(?: ?(?:prompt|message|note|"
        r"override))?(?:\]|\*\*)?\s{0,2}:\s{0,2}\S",
        r"(?:^|\n)\s{0,3}#{1,4} ?(?:instruction|response|system|human|assistant|user)s?\s{0,2}:?\s{0,2}(?:\n|$)",
        r"\byou(?:'re| are) (?:now |henceforth |no longer |actually |really |just )+(?:an? |the |in (?:\w+ )"
        r"{0,2}mode\b|my |called |"
        r"named |free|bound|playing|acting|going to|operating|dan\b|known)",
        rf"\byou(?:'re| are) (?:an? |the |my )(?:\w+ ){{0,3}}(?!grader\b){_MODEL}\b",
        r"\b(?:from now on|henceforth|from this point on(?:ward)?|going forward),? (?:(?:and )?(?:you (?:will|must|"
        r"are|should|shall|have to|can|only) (?:only |always |to |now |never )*(?:answer|reply|respond|act|speak|"
        r"ignore|pretend|obey|talk|(?:begin|end) every|an? \w+ that)|(?:your|all your|every) (?:\w+ )?(?:answers?|"
        r"repl(?:y|ies)|responses?|"
        r"outputs?|name)|(?:only |always )?(?:answer|reply|respond|act as|speak|ignore)))\b",
        r"\b(?:developer mode|dan mode|god mode|do anything now|jailbreak mode|debug mode)\b.{0,30}\b(?:enabled?|"
        r"activated?|on|you)\b",
        r"\b(?:enter|enable|activate|switch to|engage) (?:developer|dan|god|jailbreak|unrestricted) mode\b",
        rf"\byour (?:only |sole |new |real |actual |true )+(?:task|goal|job|role|objective|mission|purpose|"
        rf"duty) (?:is|now|will be)\b{_SOME}\b(?:answer|reply|respond|say|print|output|word|user|response|question|"
        rf"write|promote|convince|tell|rate|score)\b",
    ),
    "verdict": (
        rf"\brelevance (?:score )?(?:of|for) (?:this|the (?:above|following|present)) {_ON}{{0,40}}?\b(?:is|must be|"
        rf"should be) (?:the )?(?:\d|high|maxim|perfect|full|undoubted|certain)",
        rf"\b(?:its|the|your|final|correct|overall)(?: relevance| confidence)? (?:score|rating|verdict|grade|"
        rf"judge?ment)s? (?:here |for (?:this|it){_ON}{{0,40}} )?(?:must be|should be|has to be|shall be|=|:)\s?(?:the "
        rf"|"
        rf"always |set to |at least |therefore |thus )*[\"'“]?(?:1\.0+|0?\.9\d*|maximum|highest|correct|relevant|"
        rf"perfect)",
        rf"\b(?:this|the (?:above|following|present|given)) (?:\w+ )?{_TEXT} (?:\w+ ){{0,3}}(?:answers?|satisf(?:y|"
        rf"ies)|addresses|resolves|settles) (?:\w+ ){{0,2}}(?:the|your|any|every|all|this|that) (?:user'?s? (?:\w+ )?"
        rf"(?:questions?|query|queries|prompts?)|query|prompt)\b",
        r"\bverdict\b[\"'”]?\s?[:=]\s?[\"'“]?(?:correct|relevant|yes|supported|incorrect|ambiguous)\b|[\"'“](?:score|"
        r"relevance|relevance_score|keep)[\"'”]\s?:\s?(?:1\b(?!\.0*[1-9])|\[)",
        rf"\b(?:evaluators?|graders?|rerankers?|judges?|retriev(?:er|al) (?:system|model)s?)\b{_SOME}\b(?:must|should|"
        rf"shall|has to|have to|are to|is to|please)\b{_SOME}\b(?:score|rate|grade|mark|accept|rank|keep|judge)\b"
        rf"{_SOME}\b(?:this|it|the (?:above|present)|1\.0|highest|maximum|relevant|correct|first)\b",
    ),
    "reply": (
        r"\b(?:every|your) (?:\w+ ){0,3}?(?:answer|response|reply|output) (?:consists?|begins?|ends?|"
        r"opens?|closes?|(?:must|shall|should|will|has to|have to) (?:be|say|read|consist|contain|open|begin|start|"
        r"end|give|include|mention))\b",
        r"\b(?:must|shall|should|has to|is to) (?:\w+ ){0,2}(?:every|your) (?:\w+ )?(?:answer|response|reply|output)\b",
        r"\b(?:only|correct|right|proper|best) (?:answer|reply|response) (?:to give (?:is|shall be|must be|:)|shall be|"
        r"must be)\s|"
        r"\bthe (?:answer|reply|response) to give\b",
        r"\b(?:first|last|only|opening|final) word of (?:the|your|every|each) (?:answer|reply|response)\b",
        r"\b(?:the )?(?:text|answer|sentence|words?|reply|response|summary)s? (?:that )?you (?:produce|generate|"
        r"output)\b",
        rf"\bwhat(?:ever)? you (?:write|say|output|reply|answer|produce|generate|respond)\b{_SOME}(?:\b(?:must|may|"
        rf"should|shall|has to|needs to|only|with)\b|[.!:]|$)",
        rf"\b(?:whatever|no matter what|no matter which|regardless of(?: what)?|independent "
        rf"of)\b{_ON}{{0,30}}?\b(?:questions?|asked|query|prompt)\b{_SOME}\b(?:answer|response|reply|say|write|output|"
        rf"print|respond)\b",
        r"\b(?:quote|cite|use|trust|consult|mention|name) no other (?:source|document|passage|text|page)s?\b",
        rf"\b(?:in|within|throughout|inside|to|into|for|at the (?:start|end|beginning|top|bottom) of|with|of) (?:your|"
        rf"each|every) (?:final |next |own )?(?:response|reply|answer|output|message)s?,? (?:please |also |always |"
        rf"you (?:must|should|will|have to|need to) |be sure to |make sure to |subtly |casually )*(?:{_CHANGE}|"
        rf"include|write|share|make|say|state|claim|discuss|praise|criti\w+|discourage|advertise|explain|describe|"
        rf"announce|warn|inform|advise|ask|draw|never|do not|don'?t|only|claim|assert|declare|create|develop|"
        rf"capitali\w+)\b",
        rf"\b(?:the|your) (?:only |correct |right |true |final |sole |real |one )*(?:answer|response|reply)s? to "
        rf"(?:(?:the|this|your|any|every|all|each|that)(?: user'?s?| following| above| other)? (?:question|query|"
        rf"prompt)s?{_ON}{{0,60}}? (?:must|shall|has to)|(?:the user'?s?|any|every|all)(?: \w+)? (?:question|query|"
        rf"prompt)s?{_ON}{{0,60}}? (?:is|are|should|will))\b",
        rf"\bwhen(?:ever)? (?:you are |you're |being |you get |you )(?:asked|answer|answering|reply|replying|respond|"
        rf"responding|summari[sz]e|summari[sz]ing|generate|generating|prompted|cite|citing)\b{_ON}{{0,60}}?,? (?:you "
        rf"(?:must|should|will|shall)|always|never|please|do not|don'?t|{_SAY}|{_CHANGE}|include|mention)\b",
    ),
}
"""Anywhere in a sentence."""
