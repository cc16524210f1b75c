"""How sentences are put that speak to a language model: regular expressions over folded text, by what they are after.

`FIRST` are matched where a sentence begins, `OPENING` also where an order may begin within one, and `ANYWHERE` are
searched. Folded text is lower case and has no accents (`crag.text.folded`).
"""

from __future__ import annotations

__all__ = ["ANYWHERE", "FIRST", "OPENING"]

_GAP = r"[^\w.!?。！？]{1,4}"
"""What stands between two words of one thing that is said."""
_FEW = rf"(?:\w+{_GAP}){{0,4}}"
_ON = r"(?:[^.!?\n]|[.!?](?=[\w\"'”’/@]))"
"""A character of one sentence: addresses and quotations have stops within."""
_SOME = rf"{_ON}{{0,90}}?"
_SET_ASIDE = (
    r"(?:ignore|disregard|forget|override|overwrite|bypass|discard|dismiss|neglect|skip|omit|drop|cancel|erase|abandon|"
    r"(?:do not|don'?t|never|stop|no longer|cease)\s(?:to\s)?(?:follow|following|obey|obeying|listen(?:ing)? to|"
    r"adhere to|pay(?:ing)? attention to|comply(?:ing)? with|use|using)|"
    r"pay no (?:attention|heed) to|set aside|put aside|leave aside|throw away|wipe|unlearn)"
)
_EARLIER = (
    r"(?:previous(?:ly)?|prior|above|preceding|earlier|foregoing|aforementioned|all|any|every|everything|anything|"
    r"other|whatever|your|system|initial|original|existing|given|current|former|past|these|those|the other|before|my|"
    r"what you)"
)
_TOLD = (
    r"(?:instructions?|prompts?|commands?|directives?|directions?|guidelines?|guardrails?|programming|training|"
    r"system messages?|system rules|rules|constraints?|context|orders|told|messages?|questions?|query|tasks?|"
    r"restrictions?|"
    r"conversation|(?:the|your) (?:user|user's) (?:question|query|request))"
)
_MODEL = (
    r"(?:ai|a\.i\.|llms?|language models?|large language models?|ai models?|chat ?bots?|chat ?gpt|gpt(?:-?\d\w*)?|"
    r"claude|gemini|copilot|llama|ai assistants?|ai agents?|ai systems?|virtual assistants?|digital assistants?|"
    r"artificial intelligences?|assistant|neural networks?|summari[sz]ers?|retrieval evaluators?|grader|rag systems?)"
)
_ANSWER = (
    r"(?:(?:next |final |own |entire |whole |full |generated |following |upcoming )?"
    r"(?:answers?|responses?|repl(?:y|ies)|outputs?|messages?|completions?|generations?|summar(?:y|ies)))"
)
_READS = (
    rf"(?:{_GAP}(?:reading|that reads?|who reads?|processing|assistants?|models?|parsing)"
    rf"(?:{_GAP}(?:this|the|it)(?:{_GAP}\w+)?)?)?"
)
_CHANGE = (
    r"(?:add|adapt|adjust|alter|alternate|amend|anagram|append|attach|augment|base64|begin|blend|capitali[sz]e|change|"
    r"cipher|combine|compose|conceal|conclude|condense|convert|craft|deliver|direct|disguise|double|embed|emphasi[sz]e|"
    r"employ|encipher|encode|encourage|encrypt|end|endorse|enhance|enrich|ensure|express|extend|fill|finish|flip|"
    r"format|"
    r"garble|generate|give|group|hide|highlight|hint|hyphenate|implement|incorporate|infuse|inject|insert|integrate|"
    r"intersperse|introduce|inver[st]e?|invite|jumble|keep|lace|leave|limit|link|list|lower ?case|mask|mention|mirror|"
    r"misspell|mix|modify|morph|obfuscate|offer|omit|output|place|precede|prefix|present|print|produce|promote|prompt|"
    r"provide|publish|put|randomi[sz]e|rearrange|recommend|refer|remind|remove|render|reorder|repeat|rephrase|replace|"
    r"restrict|return|reverse|rewrite|rotate|scramble|seed|shift|show|shuffle|sign off|slip|spell|spin|sprinkle|start|"
    r"stress|strip|style|substitute|suffix|suggest|supplement|swap|switch|tack|tease|tell|transcribe|transform|"
    r"translate|"
    r"translit\w+|transpose|truncate|turn|twist|upper ?case|urge|use|utili[sz]e|vary|wrap|weave|work|append)"
)
_SAY = (
    r"(?:say|answer|reply|respond|output|print|write|state|return|repeat|claim|tell|declare|assert|display|give|report|"
    r"produce|emit|echo|type|conclude)"
)
_TEXT = (
    r"(?:passage|document|text|chunk|page|source|context|paragraph|snippet|excerpt|section|article|website|"
    r"content|strip)"
)
_PIECE = (
    r"(?:poem|story|essay|speech|song|haiku|limerick|sonnet|rap|joke|tweet|slogan|short story|blog post|dialogue|"
    r"riddle|"
    r"monologue|screenplay|(?:cover |formal |thank[- ]you |resignation |recommendation |persuasive )?letter|"
    r"(?:\w+ )?email|introduction|conclusion|outline|summary|caption|press release|product description|advertisement|"
    r"python (?:script|function|program)|sql query|regex|function|script|itinerary|meal plan|workout plan|to-?do list)"
)
_GO = (
    r"(?:visit|click|download|send|call|pay|enter|provide|install|share|log|buy|open|go|email|contact|subscribe|"
    r"transfer)"
)

FIRST: dict[str, tuple[str, ...]] = {
    "orders": (
        r"(?:here are |these are |the following are )?(?:your |the )?"
        r"(?:new|updated|revised|real|actual|true|secret|hidden) (?:system )?(?:instructions?|prompt|task|"
        r"objective|orders)"
        r"\b\s{0,2}(?:[:=—–-]|is\b|are\b|follow)",
    ),
    "role": (
        rf"(?:note|message|notice|attention|instructions?|important|reminder|hint|warning|memo|hey|hello|hi|dear|"
        rf"to|for|"
        rf"listen up)[^\w.!?]{{1,4}}(?:for |to |all |any |the |of |you,? |, |an? |note |message ){{0,4}}"
        rf"(?!assistant\b|grader\b){_MODEL}{_READS}\s{{0,2}}[:,!]",
        rf"(?:all |any )?(?:llms?|language models?|large language models?|ai models?|chat ?bots?|chat ?gpt|"
        rf"ai assistants?|"
        rf"ai agents?|ais?){_READS}\s{{0,2}}[:,!]{_GAP}(?:please|you|your|do|ignore|always|never|answer|reply|note|"
        rf"stop)\b",
    ),
    "task": (
        rf"(?:draft|compose|write|create|develop|provide|generate|give me|make|invent|craft|come up with|"
        rf"produce|tell me|design|prepare)\b (?:me |us )?(?:an? |the |some )?(?:\w+[ -]){{0,3}}?{_PIECE}\b"
        rf" ?(?:about|on|based|that|for|to|of|describing|explaining|in which|with|using|from)\b",
        r"(?:translate|transcribe|paraphrase|summari[sz]e|proofread|rewrite|rephrase|decode|decrypt|convert) "
        r"(?:the |this |these )?(?:following|sentence|phrase|word|paragraph|text|passage|article|review|email|"
        r"above|to\b|into\b)",
        r"(?:can|could|would|will) you (?:please )?(?:show|tell|explain|help|write|give|provide|describe|list|"
        r"translate|summari[sz]e|recommend|suggest|create|generate|find|analy[sz]e|calculate|make|draft)\b",
        r"(?:provide|give|show)(?: me)? (?:the|an?) (?:\w+ ){0,2}(?:equivalent|translation|example|definition|"
        r"synonym|antonym|explanation|overview|pronunciation)s? (?:for|of) (?:how|[\"'“‘]|the (?:word|phrase|term))",
        r"(?:explain|describe) (?:\w+ ){1,8}(?:in simple terms|with an? examples?|to (?:me|a (?:child|beginner))|"
        r"step by step|like i'?m \w+|for beginners|in (?:one|two|three|a few) sentences?)",
        r"(?:set|create|add|schedule|book|order|send|play|turn (?:on|off)|remind me|find me|search(?: the web|"
        r" online)? for|"
        r"look up|open) (?:an? |the |my |me )(?:\w+ ){0,2}(?:reminder|alarm|timer|calendar|meeting (?:with|for|at|"
        r"on)|appointment|flights?|"
        r"table for|to-?do|playlist|thermostat|lights?)\b",
        r"(?:determine|identify|analy[sz]e|classify|detect|assess|evaluate) the (?:overall )?(?:sentiment|tone|mood|"
        r"emotion)\b",
        r"(?:tell|show|teach|give|explain to|find) me (?:a joke|something about|(?:an? |the |some |"
        r"\w+ )(?:\w+ ){0,2}(?:examples?|list|recipe|"
        r"facts?|summary|overview|steps|meaning|definition|joke)\b|how (?:to|i can)\b)",
    ),
}
"""Where a sentence or line begins."""

OPENING: dict[str, tuple[str, ...]] = {
    "orders": (
        rf"{_SET_ASIDE}{_GAP}{_FEW}{_EARLIER}{_GAP}{_FEW}{_TOLD}\b",
        rf"{_SET_ASIDE}{_GAP}(?:the{_GAP})?{_TOLD}{_GAP}{_FEW}(?:above|before|earlier|previously|so far|given|you)\b",
        rf"{_SET_ASIDE}{_GAP}{_FEW}(?:everything|anything|all|what)\b{_GAP}{_FEW}"
        rf"(?:(?:came |was |is |stands |written |said |told )?(?:above|before|so far|previously|earlier|prior|"
        rf"until now)|"
        rf"you (?:were|have been|are|know|learned|learnt)|(?:i|we) (?:said|told)|else)\b",
        rf"{_SET_ASIDE}{_GAP}(?:the|all|any|all the|everything){_GAP}(?:above|foregoing|preceding|previous|prior)"
        rf"(?:{_GAP}(?:text|content|and)\b|[^\w\s]|\s*$|\s*\n)",
        rf"{_SET_ASIDE}{_GAP}(?:the{_GAP}|your{_GAP}|all{_GAP}|other{_GAP}){{1,3}}(?:other{_GAP})?"
        rf"(?:instructions?|prompts?|sources?|documents?|passages?|question)\b{_SOME}\b(?:and|instead|then)\b{_GAP}"
        rf"(?:instead{_GAP}|only{_GAP}|just{_GAP})?{_SAY}\b",
    ),
    "role": (
        rf"(?:act|behave|speak|respond|answer|roleplay|role-play|pretend)\b{_GAP}(?:as|like|that|to be|you)\b{_GAP}"
        rf"(?:if{_GAP})?(?:you|an? (?:\w+ ){{0,2}}(?:pirate|{_MODEL}|expert|hacker|person|character|human|persona|"
        rf"robot|"
        rf"linux terminal|terminal|dan))\b",
        rf"(?:reveal|print|repeat|show|output|display|expose|leak|disclose|share|tell me|send|write|list|dump|"
        rf"summari[sz]e|recite)\b{_GAP}{_FEW}(?:your (?:\w+ )?(?:instructions?|prompt|rules|guidelines|configuration|"
        rf"training data)|(?:the )?system (?:prompt|message)|(?:the )?(?:initial|hidden|above|previous) prompt)\b",
    ),
    "verdict": (
        rf"(?:give|assign|award|grant)\b{_GAP}(?:this|it|the following|the present|the above)\b{_SOME}"
        rf"\b(?:highest|maximum|top|full|perfect|best|lowest|1\.0|10|100)\b{_SOME}"
        rf"\b(?:score|rating|grade|relevance|marks?|points)\b",
        rf"(?:rate|score|grade|mark|label|classify|judge|consider|treat|rank|assess|deem|evaluate|regard|count)\b"
        rf"{_GAP}(?:this|it|the (?:above|following|present|whole|given|entire)|all|every|each)\b"
        rf"(?:{_GAP}(?:\w+{_GAP}){{0,2}}?(?:{_TEXT}s?|one))?{_GAP}(?:(?:as|to be|being|is|with|an?|fully|highly|"
        rf"entirely|completely|"
        rf"the|at|of|score|other|others){_GAP}){{0,5}}(?:\b(?:relevant|correct|accurate|authoritative|supported|"
        rf"trustworthy|irrelevant|incorrect|ambiguous|highest|maximum|"
        rf"perfect|useful|top|full marks|first)\b|\b(?:1\.0|10|100|one|ten|5|9\.?\d*)\b)",
        rf"(?:give|assign|award|return|output|set|use|report|enter)\b{_GAP}{_FEW}"
        rf"(?:(?:highest|maximum|top|perfect|full|relevance|best|lowest|zero)\b{_GAP}{_FEW})?(?:score|rating|grade|"
        rf"relevance|verdict|marks)"
        rf"\b{_SOME}(?:\b(?:this|it|highest|maximum|1\.0|10|100|relevant|correct|passage|text|document|chunk|0)\b|\d)",
        rf"(?:keep|select|choose|rank|retain|cite|prefer|use|trust|quote)\b{_GAP}(?:only{_GAP})?(?:this|"
        rf"the following|the present)"
        rf"{_GAP}(?:\w+{_GAP})?(?:{_TEXT}|sentence)\b{_SOME}\b(?:first|only|above all|instead|over all|whatever|"
        rf"regardless|"
        rf"ignore|no other|and (?:not|no|drop|discard))\b",
    ),
    "reply": (
        r"(?:replace|substitute|swap|scramble|reverse|encode|encrypt|encipher|remove|convert|jumble|shuffle|rearrange|"
        r"capitali[sz]e|shift|misspell|anagram|delete|double|drop) (?:(?:every|each|all|the|any|some|"
        r"random) )?(?:\w+ ){0,2}"
        r"(?:letters?|vowels?|consonants?|words?|spaces|characters?|syllables?) (?:with|by|in|of|to|into|using|for|"
        r"from)\b",
        r"(?:encode|encrypt|encipher|reverse|scramble|translate|rewrite|obfuscate|misspell|garble|jumble|render|"
        r"write|give|"
        r"provide|deliver|present|transform|convert) (?:the|all|this|every) (?:\w+ ){0,2}(?:response|reply|answer|"
        r"output)s? "
        r"(?:in|into|to|as|with|using|by|backwards?|through)\b",
        rf"{_CHANGE}\b{_ON}{{0,140}}?\b(?:your|the final|every|each|any) {_ANSWER}\b",
        rf"(?:include|write|share|make|state|mention|create|develop|apply|perform|set|bring|point|advertis\w+|"
        rf"pitch|draw|"
        rf"address|close|open|drop|compress|communicate|support|break|split|speak|say)\b{_ON}{{0,110}}?"
        rf"\b(?:(?:in|to|into|of|within|with|throughout|inside|across|from|at the (?:start|end|beginning) of|"
        rf"before|after) "
        rf"(?:your|the final|every|each) {_ANSWER}|your (?:final |next |own )?(?:response|reply|output) "
        rf"(?:in|as|with|by|to|using|like|sound|rhyme|into|only|backwards))\b",
        rf"(?:answer|reply|respond)\b{_GAP}(?:\w+{_GAP}){{0,3}}?(?:only|exactly|solely|exclusively|nothing but)\b",
        rf"(?:only|always|just|simply|exclusively){_GAP}(?:answer|reply|respond|output|say|print|return|write)\b{_GAP}"
        rf"(?:with|in|by|using|the|as|to|[\"'“‘«])",
        rf"(?:answer|reply|respond)\b{_GAP}(?:to (?:any|every|all|each|this|the)\b{_ON}{{0,50}}? )?"
        rf"(?:with (?:the (?:word|words|phrase|sentence|text|number|string|name|following|code)|a single|one word|"
        rf"[\"'“‘«*])|in "
        rf"(?:english|french|german|spanish|italian|latin|russian|chinese|japanese|base64|morse|rot13|pig latin|"
        rf"all caps|capital|"
        rf"uppercase|lowercase|rhyme|emojis?|verse|json|haiku|the style)|as (?:if|though|an?|json)|like an?|"
        rf"using (?:only|the words?)|"
        rf"[\"'“‘«]|that {_ON}{{0,80}}?\b(?:whatever|regardless|always|only)\b|in (?:the )?(?:same )?(?:language|"
        rf"voice|style))",
        rf"(?:say|print|output|write|state|return|repeat|emit|echo|type|display|append|insert|add|include|mention|"
        rf"use)\b{_GAP}"
        rf"(?:only{_GAP}|just{_GAP}|exactly{_GAP}|back{_GAP}|out{_GAP}|with{_GAP})?(?:the{_GAP}|this{_GAP})?"
        rf"(?:exact{_GAP}|following{_GAP}|secret{_GAP}|code{_GAP}|single{_GAP}|magic{_GAP}){{0,2}}"
        rf"(?:word|words|phrase|string|token|sentence|code|codeword|password|passphrase|"
        rf"canary)\b{_SOME}(?:[\"'“‘«*:]|\b(?:somewhere|first|"
        rf"instead|only|three times|twice|and nothing|nothing else|at the (?:start|end|beginning)|in (?:the|your)|"
        rf"before|times|when)\b)",
        rf"(?:say|print|output|answer|reply|respond|write|return|state)\b{_SOME}"
        rf"\b(?:and nothing (?:else|more)|nothing (?:else|more)|and no other (?:word|text)|no (?:explanation|"
        rf"other text)|"
        rf"instead of (?:an(?:swer\w*)?|the|your)|in place of (?:an|the|your) answer|"
        rf"without (?:any )?(?:explanation|comment)|"
        rf"no matter what|whatever (?:the|is|you|was)|regardless of (?:the|what)|when(?:ever)? (?:asked|"
        rf"you are asked|someone asks))\b",
        rf"(?:tell|inform|advise|instruct|urge|ask|convince|persuade|direct|redirect|encourage|remind|warn|notify|"
        rf"invite|"
        rf"mislead|trick|prompt|refer|point|get|assure|guide|lead|send)\b{_GAP}(?:the|your|all|any|every|"
        rf"our){_GAP}(?:users?|readers?|"
        rf"asker|person (?:who (?:asks|asked)|asking)|human|questioner)\b(?:{_GAP}{_FEW}(?:{_GO}|that|to|of|about|"
        rf"how|who)\b)",
        rf"(?:do not|don'?t|never|refuse to|avoid)\b{_GAP}(?:answer(?:ing)?|reply(?:ing)? to|respond(?:ing)? to|"
        rf"cite|citing|quote|quoting|"
        rf"use|using|trust|mention|mentioning|reveal|include)\b{_GAP}{_FEW}(?:(?:the|this|any|that|"
        rf"user'?s?)(?: \w+)? (?:question|query|prompt)s?|"
        rf"(?:other|these|the other|any other|any|all other) (?:sources?|documents?|passages?)|(?:this|"
        rf"these) instructions?)\b",
        rf"(?:begin|start|end|finish|open|close|preface|conclude|sign)\b{_GAP}(?:off{_GAP})?(?:your |every |each |"
        rf"all |any )"
        rf"(?:\w+ )?{_ANSWER}?\b{_SOME}\b(?:with|by|saying)\b",
    ),
}
"""Where an order may begin: there, or behind what orders are introduced with."""

ANYWHERE: dict[str, tuple[str, ...]] = {
    "orders": (
        rf"\b{_SET_ASIDE} (?:the|this|that) (?:current |user'?s? |original )?(?:question|query|request|task)\b{_SOME}"
        rf"\b(?:and|instead|then)\b{_GAP}(?:(?:\w+ly|instead|only|just){_GAP})?{_SAY}\b",
        r"\b(?:ignoreall|ignoreprevious|ignoretheabove|ignoreprior|ignoreany|disregardall|disregardprevious|"
        r"disregardprior|forgeteverything|forgetall|previousinstructions|priorinstructions|systemprompt)",
        rf"\b(?:previous|prior|above|earlier|original) (?:instructions?|prompts?|directives?|orders)\b{_SOME}"
        rf"\b(?:void|cancel+ed|invalid|overridden|superseded|obsolete|suspended|no longer (?:apply|valid|in force)|"
        rf"do not apply|don'?t apply)\b{_SOME}(?:\b(?:you|your|instead|{_SAY})\b|[.!:]|$)",
        r"\b(?:end of|end) (?:context|document|prompt|user input|sources?)\b[^\w\n]{1,4}(?:new|begin|start|now|"
        r"system)\b",
    ),
    "role": (
        r"<\|?(?:im_start|im_end|system|user|assistant|endoftext|end_of_text|eot_id|start_header_id|begin_of_text)\|?>",
        r"<</?sys>>|\[/?inst\]|</(?:source|text|question|sentence|document|system_?prompt|instructions?)>",
        r"(?:^|\n)\s{0,3}(?:#{1,4} ?|\[|\*\*)?(?:system|assistant|developer)(?: ?(?:prompt|message|note|override))?"
        r"(?:\]|\*\*)?\s{0,2}:\s{0,2}\S",
        r"(?:^|\n)\s{0,3}#{1,4} ?(?:instruction|response|system|human|assistant|user)s?\s{0,2}:?\s{0,2}(?:\n|$)",
        rf"\b(?:note|message|attention|instructions?|directive|reminder|notice|command) (?:to|for) "
        rf"(?:all |any |the |every |our |you,? |an? ){{0,3}}(?!assistant\b|"
        rf"grader\b){_MODEL}\b\s{{0,2}}(?:[:.,!—–-]|$|\n|reading|that)",
        rf"\b(?:if|when|since|because|as|whenever|while) you(?:'re| are) (?:an? |"
        rf"the )?(?:helpful )?(?!grader\b){_MODEL}\b",
        r"\byou(?:'re| are) (?:now |henceforth |no longer |actually |really |just )+(?:an? |the |in |my |called |"
        r"named |free|bound|"
        r"playing|acting|going to|operating|dan\b|known)",
        rf"\byou(?:'re| are) (?:an? |the |my )(?:\w+ ){{0,3}}(?!grader\b){_MODEL}\b",
        r"\b(?:from now on|henceforth|from this point on(?:ward)?|going forward),? (?:(?:and )?(?:you (?:will|"
        r"must|are|should|shall|"
        r"have to|can|only) (?:only |always |to |now |never )*(?:answer|reply|respond|act|speak|end|begin|start|"
        r"ignore|be|behave|play|"
        r"pretend|say|write|an?|my|obey|use|refuse|talk|include)|your|always|only|every|all your|answer|reply|"
        r"respond|act|speak|ignore))\b",
        r"\b(?:developer mode|dan mode|god mode|do anything now|jailbreak mode|debug mode)\b.{0,30}"
        r"\b(?:enabled?|activated?|on|you)\b",
        r"\b(?:enter|enable|activate|switch to|engage) (?:developer|dan|god|jailbreak|unrestricted) mode\b",
        rf"\byour (?:only |sole |new |real |actual |true |main )+(?:task|goal|job|role|objective|mission|purpose|duty) "
        rf"(?:is|now|will be)\b{_SOME}\b(?:answer|reply|respond|say|print|output|word|user|response|question|write|"
        rf"promote|"
        rf"convince|tell|rate|score)\b",
    ),
    "verdict": (
        rf"\brelevance (?:score )?(?:of|for) (?:this|the (?:above|following|present)) {_ON}{{0,40}}?\b(?:is|"
        rf"must be|should be) "
        rf"(?:the )?(?:\d|high|maxim|perfect|full|undoubted|certain)",
        rf"\b(?:relevance|its|the|your|final|correct|overall|similarity|evaluation)(?: relevance| confidence)? "
        rf"(?:score|rating|verdict|grade|judge?ment)s? (?:here |for (?:this|it){_ON}{{0,40}} )?"
        rf"(?:is|are|must be|should be|has to be|shall be|will be|=|:)\s?(?:the |always |set to |at least |"
        rf"therefore |thus )*"
        rf"[\"'“]?(?:1\.0+|1\b|10\b|100\b|0?\.9\d*|maximum|highest|correct|relevant|perfect|five|ten|one)",
        rf"\b(?:this|the (?:above|following|present|given)) (?:\w+ )?{_TEXT} (?:\w+ ){{0,3}}(?:answers?|satisf(?:y|"
        rf"ies)|addresses|resolves|"
        rf"settles) (?:\w+ ){{0,2}}(?:the|your|any|every|all|this|that|user'?s?)(?: \w+){{0,2}} (?:questions?|"
        rf"query|queries|prompts?)\b",
        rf"\b(?:this|the (?:above|following|present|given)) (?:\w+ )?{_TEXT} (?:is|was|has been|must be|should be|"
        rf"is to be|shall be) (?:\w+ ){{0,4}}"
        rf"(?:relevant|graded|scored|rated|judged|classified|marked)\b{_SOME}"
        rf"\b(?:question|query|correct|relevant|highest|1\.0|evaluator|grader|score|queries|user)",
        r"\bverdict\b[\"'”]?\s?[:=]\s?[\"'“]?(?:correct|relevant|yes|supported|incorrect|ambiguous)\b|"
        r"[\"'“](?:score|relevance|relevance_score|keep)[\"'”]\s?:\s?(?:1\b(?!\.0*[1-9])|\[)",
        rf"\b(?:evaluators?|graders?|rerankers?|judges?|retriev(?:er|al) (?:system|model)s?)\b{_SOME}\b(?:must|"
        rf"should|shall|has to|have to|"
        rf"are to|is to|please)\b{_SOME}\b(?:score|rate|grade|mark|accept|rank|keep|judge|correct|relevant|highest)",
    ),
    "reply": (
        rf"\bwhat(?:ever)? you (?:write|say|output|reply|answer|produce|generate|respond)\b{_SOME}"
        rf"(?:\b(?:must|may|should|shall|has to|needs to|only|with)\b|[.!:]|$)",
        rf"\b(?:may|must|should|shall|finish|end|begin|start|contain|include|append|add|put|place)\b{_SOME}"
        rf"\b(?:what(?:ever)? you|(?:the|any|every|all) (?:text|sentence|paragraph|word|answer|reply|"
        rf"response)s? (?:that )?you) "
        rf"(?:write|say|output|reply|answer|produce|generate|respond|give|compose)\b",
        rf"\b(?:whatever|no matter what|no matter which|regardless of(?: what)?|independent of)\b{_ON}{{0,30}}?"
        rf"\b(?:questions?|asked|query|prompt)\b{_SOME}\b(?:answer|response|reply|say|write|output|print|respond)\b",
        r"\b(?:quote|cite|use|trust|consult|mention|name) no other (?:source|document|passage|text|page)s?\b",
        rf"\b(?:in|within|throughout|inside|to|into|for|at the (?:start|end|beginning|top|bottom) of|with|"
        rf"of) (?:your|each|every) "
        rf"(?:final |next |own )?(?:response|reply|answer|output|message)s?,? "
        rf"(?:please |also |always |you (?:must|should|will|have to|need to) |be sure to |make sure to |subtly |"
        rf"casually )*"
        rf"(?:{_CHANGE}|include|write|share|make|say|state|claim|discuss|praise|criti\w+|discourage|advertise|"
        rf"explain|describe|"
        rf"announce|warn|inform|advise|ask|draw|never|do not|don'?t|only|claim|assert|declare|create|develop|"
        rf"capitali\w+)\b",
        rf"\byour {_ANSWER} (?:must|should|shall|has to|have to|needs? to|will|is to|are to|ought to|may only|"
        rf"can only) "
        rf"(?:always |also |only |instead |now |simply |just |not |never )*(?:be|begin|start|end|contain|include|"
        rf"consist|say|mention|"
        rf"have|read|state|use|rhyme|follow|open|close|conclude|refer|recommend|only|sound|look|come)\b",
        rf"\b(?:the|your) (?:only |correct |right |true |final |sole |real |one )*(?:answer|response|reply)s? "
        rf"to (?:(?:the|this|your|any|every|all|each|that)(?: user'?s?| following| above| other)? (?:question|"
        rf"query|prompt)s?"
        rf"{_ON}{{0,60}}? (?:must|shall|has to)|(?:the user'?s?|any|every|all)(?: \w+)? (?:question|query|"
        rf"prompt)s?{_ON}{{0,60}}? "
        rf"(?:is|are|should|will))\b",
        rf"\bwhen(?:ever)? (?:you are |you're |being |you get |you )(?:asked|answer|answering|reply|replying|"
        rf"respond|responding|summari[sz]e|"
        rf"summari[sz]ing|generate|generating|prompted|cite|citing)\b{_ON}{{0,60}}?,? (?:you (?:must|should|will|"
        rf"shall)|always|never|"
        rf"please|do not|don'?t|{_SAY}|{_CHANGE}|include|mention)\b",
        rf"\b(?:the )?(?:users?|human|person asking|person who asks) (?:wants you|asked you|would like you|expects you|"
        rf"has asked you|must be told)\b{_SOME}\b(?:to|be told|be|see|receive)\b",
    ),
    "task": (
        r"\b(?:how (?:do|would|can) (?:you|i) say|what(?:'s| is|"
        r" does)) [\"'“‘][^\"”’\n]{1,60}?[\"'”’] (?:mean )?(?:in|into) "
        r"(?:english|french|german|spanish|italian|russian|chinese|japanese|korean|portuguese|latin|arabic|dutch|"
        r"turkish|polish|greek|hindi|"
        r"swedish|\w+ese)\b",
    ),
}
"""Anywhere in a sentence."""
