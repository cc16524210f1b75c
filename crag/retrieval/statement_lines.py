"""The lines of a financial statement that a question of figures is after.

"What is the quick ratio?" stands nowhere in a report; cash, receivables and current liabilities do. Words that a
report itself uses (revenue) are left out: they are found as they are.
"""

from __future__ import annotations

import re

_WORDS = re.compile(r"[a-z]+(?:\s?&\s?[a-z]+)*")
_INCOME, _BALANCE, _CASH = "statement of income", "balance sheet", "cash flows"
_PROPERTY = f"property plant and equipment net {_BALANCE}"
_SPENT = f"purchases of property plant and equipment {_CASH}"
_CURRENT = f"total current assets total current liabilities {_BALANCE}"
LINES = {
    "sales growth": "net sales change",
    "organic growth": "organic sales growth",
    "gross margin": f"gross profit cost of sales revenue {_INCOME}",
    "gross profit": "cost of sales cost of goods sold revenue",
    "operating margin": "operating income revenue statement of operations",
    "profit margin": f"net income revenue {_INCOME}",
    "net margin": "net income revenue",
    "cogs": "cost of goods sold cost of sales",
    "ebitda": "operating income depreciation and amortization",
    "ebit": "operating income",
    "d&a": "depreciation and amortization",
    "sg&a": "selling general and administrative expenses",
    "r&d": "research and development expenses",
    "eps": "earnings per share diluted",
    "effective tax rate": "provision for income taxes income before income taxes",
    "tax rate": "provision for income taxes income before taxes",
    "interest coverage": "interest expense operating income",
    "working capital": _CURRENT,
    "current ratio": _CURRENT,
    "quick ratio": f"cash and cash equivalents accounts receivable total current liabilities {_BALANCE}",
    "liquidity": "cash and cash equivalents current assets current liabilities",
    "capex": f"capital expenditures {_SPENT}",
    "capital expenditure": _SPENT,
    "capital intensive": "property plant and equipment capital expenditures total assets",
    "ppne": _PROPERTY,
    "pp&e": _PROPERTY,
    "dpo": "accounts payable cost of goods sold inventories",
    "days payable": "accounts payable cost of goods sold inventories",
    "dso": "accounts receivable net sales",
    "inventory turnover": "inventories cost of goods sold",
    "asset turnover": "net sales total assets",
    "fixed asset turnover": "property plant and equipment net sales",
    "fcf": "net cash provided by operating activities capital expenditures",
    "free cash flow": "net cash provided by operating activities capital expenditures",
    "operating cash flow": f"net cash provided by operating activities {_CASH}",
    "return on assets": "net income total assets",
    "return on equity": "net income shareholders equity",
    "payout ratio": "dividends paid net income",
    "dividend payout": "cash dividends paid net income",
    "debt to equity": f"total debt shareholders equity {_BALANCE}",
}
"""What a question may call a figure, and the words of the lines it is worked out from or shown in."""


def line_items(question: str) -> str:
    """The words of those lines that the question itself does not have; nothing for a question of no such figure."""
    words = ["".join(word.split()) for word in _WORDS.findall(question.lower())]
    asked = f" {' '.join(words)} "
    called = [lines for name, lines in LINES.items() if f" {name} " in asked or f" {name}s " in asked]
    return " ".join(dict.fromkeys(word for lines in called for word in lines.split() if f" {word} " not in asked))
