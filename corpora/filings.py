"""Made-up pieces of annual reports with questions about them: tables without sentences, other years, other companies.

No public set with a licence to train has questions over filings, so these are written by rule: companies, amounts and
sentences are invented; line items and ratios are those every income statement, balance sheet and cash flow statement
has. A pair is positive where the piece belongs to the right company and year and holds a line that the question needs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from corpora.pair import Pair

INCOME, BALANCE, CASH = "income", "balance", "cash"
HEADS = {
    INCOME: ("Consolidated Statements of Income", "Consolidated Statements of Operations", "Statements of Earnings"),
    BALANCE: ("Consolidated Balance Sheets", "Consolidated Statements of Financial Position", "Balance Sheets"),
    CASH: ("Consolidated Statements of Cash Flows", "Statements of Cash Flows"),
}
SPOKEN = {
    INCOME: ("income statement", "statement of income", "P&L statement", "statement of operations"),
    BALANCE: ("balance sheet", "statement of financial position"),
    CASH: ("cash flow statement", "statement of cash flows"),
}
ITEMS = {
    INCOME: """Net sales|Cost of sales|Gross profit|Selling, general and administrative expenses
        |Research and development|Depreciation and amortization|Restructuring charges|Operating income
        |Interest expense|Interest income
        |Other income (expense), net|Income before income taxes|Provision for income taxes|Net income
        |Net income attributable to shareholders|Basic earnings per share|Diluted earnings per share
        |Weighted average shares outstanding""",
    BALANCE: """Cash and cash equivalents|Short-term investments|Accounts receivable, net|Inventories
        |Prepaid expenses and other current assets|Total current assets|Property, plant and equipment, net|Goodwill
        |Intangible assets, net|Other assets|Total assets|Accounts payable|Accrued liabilities
        |Current portion of long-term debt|Deferred revenue|Total current liabilities|Long-term debt
        |Other long-term liabilities|Total liabilities|Common stock|Additional paid-in capital|Retained earnings
        |Accumulated other comprehensive loss|Total shareholders' equity""",
    CASH: """Net income|Depreciation and amortization|Stock-based compensation|Deferred income taxes
        |Changes in accounts receivable|Changes in inventories|Changes in accounts payable
        |Net cash provided by operating activities|Purchases of property, plant and equipment|Acquisitions, net of cash
        |Purchases of investments|Net cash used in investing activities|Proceeds from issuance of debt
        |Repayments of debt|Cash dividends paid|Repurchases of common stock|Net cash used in financing activities
        |Cash and cash equivalents at end of year""",
}
LINES = {kind: [" ".join(item.split()) for item in text.split("|")] for kind, text in ITEMS.items()}
OTHERS = {  # what companies call a line
    "Net sales": ("Revenue", "Revenues", "Net revenues", "Total net revenue"),
    "Cost of sales": ("Cost of revenue", "Cost of goods sold", "Costs of products sold"),
    "Net income": ("Net earnings", "Net income (loss)"),
    "Operating income": ("Income from operations", "Operating profit"),
    "Inventories": ("Merchandise inventories", "Inventories, net"),
    "Accounts receivable, net": ("Receivables, net", "Trade receivables"),
    "Purchases of property, plant and equipment": ("Capital expenditures", "Additions to property and equipment"),
    "Property, plant and equipment, net": ("Property and equipment, net",),
    "Provision for income taxes": ("Income tax expense", "Provision for taxes on income"),
}
METRICS: Sequence[tuple[str, Sequence[tuple[str, str]]]] = (
    ("gross margin", ((INCOME, "Net sales"), (INCOME, "Cost of sales"), (INCOME, "Gross profit"))),
    ("operating margin", ((INCOME, "Operating income"), (INCOME, "Net sales"))),
    ("net profit margin", ((INCOME, "Net income"), (INCOME, "Net sales"))),
    ("COGS as a share of revenue", ((INCOME, "Cost of sales"), (INCOME, "Net sales"))),
    ("year-over-year revenue growth", ((INCOME, "Net sales"),)),
    ("effective tax rate", ((INCOME, "Provision for income taxes"), (INCOME, "Income before income taxes"))),
    ("interest coverage ratio", ((INCOME, "Operating income"), (INCOME, "Interest expense"))),
    ("R&D spending as a percentage of sales", ((INCOME, "Research and development"), (INCOME, "Net sales"))),
    ("quick ratio", ((BALANCE, "Cash and cash equivalents"), (BALANCE, "Total current liabilities"))),
    ("current ratio", ((BALANCE, "Total current assets"), (BALANCE, "Total current liabilities"))),
    ("working capital", ((BALANCE, "Total current assets"), (BALANCE, "Total current liabilities"))),
    ("debt to equity ratio", ((BALANCE, "Long-term debt"), (BALANCE, "Total shareholders' equity"))),
    ("inventory turnover", ((INCOME, "Cost of sales"), (BALANCE, "Inventories"))),
    ("days sales outstanding", ((BALANCE, "Accounts receivable, net"), (INCOME, "Net sales"))),
    ("days payable outstanding", ((BALANCE, "Accounts payable"), (INCOME, "Cost of sales"))),
    ("return on assets", ((INCOME, "Net income"), (BALANCE, "Total assets"))),
    ("asset turnover ratio", ((INCOME, "Net sales"), (BALANCE, "Total assets"))),
    ("fixed asset turnover", ((INCOME, "Net sales"), (BALANCE, "Property, plant and equipment, net"))),
    (
        "free cash flow",
        ((CASH, "Net cash provided by operating activities"), (CASH, "Purchases of property, plant and equipment")),
    ),
    ("capital expenditure", ((CASH, "Purchases of property, plant and equipment"),)),
    ("dividend payout ratio", ((CASH, "Cash dividends paid"), (INCOME, "Net income"))),
    (
        "operating cash flow ratio",
        ((CASH, "Net cash provided by operating activities"), (BALANCE, "Total current liabilities")),
    ),
    ("EBITDA", ((INCOME, "Operating income"), (CASH, "Depreciation and amortization"))),
)
ASKED = (
    "What is {company}'s FY{year} {metric}?",
    "What was the {metric} of {company} in fiscal {year}?",
    "Using the {statement}, what is the FY{year} {metric} for {company}? Round to two decimal places.",
    "Calculate {company}'s {metric} for fiscal year {year} from the {statement}.",
    "Relying only on the {statement}, how much {metric} did {company} report at year end FY{year}? In USD millions.",
    "Did {company}'s {metric} improve between FY{before} and FY{year}?",
    "{company} {metric} FY{year}",
)
PROSE: Sequence[tuple[str, str]] = (  # question; what answers it
    (
        "What drove the change in {company}'s selling, general and administrative expenses in FY{year}?",
        "Selling, general and administrative expenses {moved} {n}% in fiscal {year}, due to {cause} and {other}.",
    ),
    (
        "Why did {company}'s gross margin change in fiscal {year}?",
        "Gross margin {moved} {n} basis points to {m}% of net sales in {year}, from {cause}, partly offset by {other}.",
    ),
    (
        "Does {company} face material legal proceedings as of FY{year}?",
        "In {before}, a purported class action was filed against us in {place} alleging violations of law. We will "
        "defend ourselves vigorously; an adverse outcome could be material.",
    ),
    (
        "Who are the main customers of {company} as of {year}?",
        "We sell mainly to {buyers}. Two customers made up {n}% of our consolidated sales in {year}.",
    ),
    (
        "What acquisitions did {company} complete in FY{year}?",
        "On March 3, {year}, we acquired all shares of {target}, a maker of {goods}, for $1.{n} billion in cash.",
    ),
    (
        "How did the effective tax rate of {company} in FY{year} compare to FY{before}?",
        "Our effective tax rate was {n}.4% in {year} compared with {m}.1% in {before}, owing to {cause}.",
    ),
    (
        "Which segment of {company} had the highest sales growth in FY{year}?",
        "Sales of the {goods} segment rose {n}% in {year}, more than any other segment, led by {cause}.",
    ),
    (
        "What is {company}'s outlook for fiscal {after}?",
        "For fiscal {after} we now expect organic revenue growth of about {n}% and earnings per share to rise {m}%.",
    ),
    (
        "By how much was {company}'s credit facility increased in {year}?",
        "On May 26, {year} the Company entered into a five-year credit agreement that raises what it may borrow by "
        "${n}00 million; the earlier agreement was terminated.",
    ),
    (
        "What was the result of the shareholder vote on the climate report proposal at {company}'s {year} meeting?",
        "The shareholder proposal for a climate report was not approved: votes for {n}1,204,311, against {m}8,422,090.",
    ),
    (
        "Why did merchandise inventories of {company} rise at the end of FY{year}?",
        "Inventories at year end were up {n}% to $1.{m} billion, mainly from {cause} and {n} new stores.",
    ),
    (
        "How much did {company} spend on share repurchases in fiscal {year}?",
        "During fiscal {year} we repurchased {n}.2 million shares of our common stock for $1,0{m} million.",
    ),
    (
        "Is {company}'s business cyclical or seasonal?",
        "Demand in our industry moves with the general economy, and our results are cyclical; sales are usually "
        "highest in the fourth quarter.",
    ),
    (
        "What debt did {company} issue in {year}?",
        "In {year} we issued $1.{n} billion of senior notes that bear interest of {m}% and fall due in 2031.",
    ),
    (
        "Who was named chief executive of {company} in {year}?",
        "The Board appointed {person} as Chief Executive Officer effective September 1, {year}; {person} earlier led "
        "{target} as its president.",
    ),
)
FILLER = (
    "Indicate by check mark whether the registrant is a large accelerated filer or a smaller reporting company.",
    "The following discussion should be read with our consolidated financial statements and the notes to them.",
    "We believe that our brands and our people give us an advantage over competitors, but there can be no assurance.",
    "Actual results may differ from these estimates under different assumptions or conditions.",
    "We have audited the consolidated financial statements of the Company under the standards of the Board.",
    "Changes in laws and rules, or in how they are enforced, could raise our costs and harm our business.",
    "The Company adopted the new accounting standard in the first quarter using the modified retrospective method.",
    "Management is responsible for establishing and maintaining adequate internal control over financial reporting.",
    "A cyber attack or failure of our information systems could disrupt our operations and hurt our reputation.",
    "Exhibit 10.3 Incentive Plan Restricted Stock Unit Award Agreement, incorporated by reference.",
)
FIRST = "Northgate Halvorsen Brightwell Calder Ostrava Pinecrest Redfern Silvan Tolland Umber Verity Wexford Yarrow"
SECOND = "Foods Aerospace Pharmaceuticals Retail Technologies Energy Brands Motors Beverage Materials Insurance Media"
CAUSES = "higher freight costs|price increases|lower marketing spend|a stronger dollar|favorable product mix"
CAUSES += "|higher volumes|store growth|the divestiture of a business|wage inflation|supply chain disruption"
GOODS = "snacks|sensors|vaccines|footwear|engines|software|cosmetics|dairy products|drills|packaging"


def make_company_title(dice: random.Random) -> tuple[str, int, str]:
    """A made-up company, a year, and the title of its report for that year."""
    company, year = f"{dice.choice(FIRST.split())} {dice.choice(SECOND.split())}", dice.randint(2014, 2024)
    return company, year, _title(dice, company, year)


def filing_pairs(dice: random.Random, count: int) -> Iterator[Pair]:
    """About three pairs for each of `count` made-up companies' questions."""
    for number in range(count):
        company, year = f"{dice.choice(FIRST.split())} {dice.choice(SECOND.split())}", dice.randint(2014, 2024)
        made = _figures if dice.random() < 0.6 else _prose
        yield from made(dice, company, year, f"filing {number % 97}")


def _figures(dice: random.Random, company: str, year: int, group: str) -> Iterator[Pair]:
    if dice.random() < 0.35:
        kind = dice.choice((INCOME, BALANCE, CASH))
        line = dice.choice(LINES[kind])
        metric, needs = line.lower(), [(kind, line)]
    else:
        metric, found = dice.choice(METRICS)
        needs = list(found)
    statement = " and the ".join(dict.fromkeys(dice.choice(SPOKEN[kind]) for kind, _ in needs))
    question = dice.choice(ASKED).format(
        company=company, year=year, before=year - 1, metric=metric, statement=statement
    )
    if len(needs) > 1 and dice.random() < 0.4:
        question += f" It is defined by {' and '.join(line.lower() for _, line in needs)}."
    kind, line = dice.choice(needs)
    base = Pair(question, "", 1.0, group, "filing", _title(dice, company, year))
    text, row = _statement(dice, kind, line, year)
    yield _with(base, text, 1.0, row)
    wrong = dice.random()
    if wrong < 0.4:
        other = dice.choice([k for k in LINES if all(k != need for need, _ in needs)] or [CASH])
        far = [text for text in LINES[other] if all(text != need for _, need in needs)]
        yield _with(base, _statement(dice, other, dice.choice(far), year)[0], 0.0)
    elif wrong < 0.7:
        off = year + dice.choice((-5, -4, -3, 2, 3, 4))
        text, _ = _statement(dice, kind, line, off)
        yield Pair(question, text, 0.0, group, "filing", _title(dice, company, off), keeps=())
    else:
        text, _ = _statement(dice, kind, line, year)
        yield Pair(question, text, 0.0, group, "filing", _title(dice, _other(dice, company), year), keeps=())
    yield _with(base, _talk(dice, line), 0.0)


def _prose(dice: random.Random, company: str, year: int, group: str) -> Iterator[Pair]:
    place = dice.randrange(len(PROSE))
    words = {
        "company": company,
        "year": year,
        "before": year - 1,
        "after": year + 1,
        "n": dice.randint(2, 9),
        "m": dice.randint(10, 49),
        "moved": dice.choice(("rose", "fell", "increased", "decreased")),
        "cause": dice.choice(CAUSES.split("|")),
        "other": dice.choice(CAUSES.split("|")),
        "place": dice.choice(("Delaware", "California", "federal court")),
        "buyers": dice.choice(
            ("large grocery chains", "commercial airlines and the government", "hospitals and wholesalers", "carmakers")
        ),
        "target": f"{dice.choice(FIRST.split())} {dice.choice(('Labs', 'Group', 'Works'))}",
        "goods": dice.choice(GOODS.split("|")),
        "person": dice.choice(("Ms. Adler", "Mr. Okafor", "Dr. Lindqvist")),
    }
    question, answer = (text.format(**words) for text in PROSE[place])
    base = Pair(question, "", 1.0, group, "filing", _title(dice, company, year))
    around = dice.sample(FILLER, 2)
    keep = [around[0], answer] if dice.random() < 0.5 else [answer, around[1]]
    yield _with(base, " ".join(keep), 1.0, answer)
    other = PROSE[dice.choice([n for n in range(len(PROSE)) if n != place])][1].format(**words)
    yield _with(base, f"{around[0]} {other}", 0.0)
    yield _with(base, " ".join(around), 0.0)


def _with(pair: Pair, text: str, label: float, keep: str | None = "") -> Pair:
    """`keep`: the sentence or row of the text that answers; None where rows are not lines of their own."""
    at = text.index(keep) if keep else 0
    keeps = None if keep is None else ((at, at + len(keep)),) if keep else ()
    return Pair(pair.question, text, label, pair.group, pair.source, pair.title, keeps=keeps)


def _statement(dice: random.Random, kind: str, line: str, year: int) -> tuple[str, str | None]:
    """A run of a statement's lines with `line` in it, and its row: with amounts or, in one line, without."""
    lines = LINES[kind]
    at = lines.index(line)
    first = max(0, at - dice.randint(0, 7))
    rows = [dice.choice((text, *OTHERS.get(text, ()))) for text in lines[first : at + dice.randint(1, 8)]]
    head = f"{dice.choice(HEADS[kind])} (in millions)"
    style = dice.random()
    row = None
    if style < 0.6:
        text = "; ".join(rows)
    else:
        rows = [
            f"{name}: {year}: {dice.randint(100, 90000):,}; {year - 1}: {dice.randint(100, 90000):,}" for name in rows
        ]
        row, text = rows[at - first], "\n".join(rows)
    head = head.upper() if dice.random() < 0.5 else head
    between = "; " if row is None else "\n"
    return f"{head}{between}{text}" if dice.random() < 0.7 else text, row


def _talk(dice: random.Random, line: str) -> str:
    """Prose that names the line but has no figure of it."""
    said = (
        f"We evaluate {line.lower()} for recoverability whenever events suggest it. ",
        f"Our estimates of {line.lower()} rest on assumptions about the future that may prove wrong. ",
        "",
    )
    return dice.choice(said) + " ".join(dice.sample(FILLER, 2))


def _title(dice: random.Random, company: str, year: int) -> str:
    return dice.choice(
        (
            f"{company}, Form 10-K, fiscal year ended December 31, {year}",
            f"{company} {year} annual report",
            f"{company.upper()}, Form 10-K, for the year {year}",
            f"{company}, Form 8-K, {dice.choice(('May', 'August'))} 30, {year}",
        )
    )


def _other(dice: random.Random, company: str) -> str:
    while (name := f"{dice.choice(FIRST.split())} {dice.choice(SECOND.split())}") == company:
        pass
    return name
