"""Other people's documents: is a question answered right, and nothing where it is absent?

python -m benchmarks.papers --papers FOLDER [--limit N] [--out FOLDER]

FOLDER/first to FOLDER/thirteenth hold files that public repositories keep for tests of their own. first: the eleven of
invoice-x/invoice2data, tests/compare. second: invoice.pdf and Invoice-6.pdf of Azure-Samples/cognitive-services-
REST-api-samples, Textract-MergeCell-Statement.pdf of aws-samples/amazon-textract-code-samples, and of OCA/edi
bouygues_telecom-test.pdf, akretion_france-test.pdf and ZUGFeRD_1p0_COMFORT_Einfach.pdf. third: of
tabulapdf/tabula-java, src/test/resources/technology/tabula, the 67 of icdar2013-dataset without its folders' names,
labor, offense, sydney_disclosure_contract as sydney_disclosure, and m27; of jsvine/pdfplumber cupertino_usd_4-6-16,
ag-energy-round-up-2017-02-24, scotus-transcript-p1, federal-register-2020-17221, 150109DSP-Milw-505-90D,
senate-expenditures, la-precinct-bulletin-2014-p1 and issue-982-example; of Unstructured-IO/unstructured reliance,
failure-after-repair as cancer-guide, and pdf2image-memory-error-test-400p as irm-2-3-59. fourth: the six of
akhilkandoi/business-document-rag, data. fifth: the six of ppiova/azure-search-openai-demo-csharp, data. sixth:
policy.pdf of suvz47/langgraph_multiagent_system, data. seventh: contract.pdf of swastik2475/magra-rag, data. eighth:
handbook.pdf of sahasrarayarao/kansas-drivers-exam, docs (a driver's handbook), bylaws.pdf of RoninInstitute/docs and
datasheet.pdf of Beirdo/Arduino-LM96163, docs. ninth: syllabus.pdf of ConnorNelson/CSE-545-S22, minutes.pdf and
PITCH.pdf of never-nude/cityofwhiteplains1. tenth: of freelawproject/doctor, doctor/test_assets, papers of courts:
missouri, and from recap_documents and recap_extract ca5_00516242060 as standard, ca7_3 as fedex, ca6_1-3 as letter,
gov.uscourts.azd.1085839.3.0 as remand and gov.uscourts.cacd.652774.40.0 as experian. eleventh: of maxpfannkuch/
linsengericht-satzungen-ocr-text-pipeline original/benutzung-der-gemeindlichen-feld-und-waldwege as feldwegeordnung,
recetas.pdf of lmcj-xyz/Recetas, pricelist.pdf of prasanth1572/hanabicrackers as fireworks-pricelist, "PPSS Minutes
15-3-2016" of secret-agent-drone/ppss-meetings as ppss-minutes, programme.pdf of balkan-archaeology/
balkan-archaeology.github.io as balkan-programme, DS1621.pdf of enggsajjad/techDatasheets as ds1621-datasheet,
rental-agreement.pdf of schraderweb/grandtraverseboatrentals as boat-rental-agreement, "2019 Annual Report" of
smoores-dev/cayugaswatchers as watchers-annual-report-2019, the 2024 stakeholders' slides of
nmdarksky/nmdarksky.github.io as night-sky-slides, "Robo Ice Cream F2 - Customer Manual.docx" of
sweetrobo/SweetRoboManuals as robo-ice-cream-manual, submission/manuscript.pdf of
SchlossLab/Tomkovich_PEG3350_mSphere_2021 as laxative-mice-article, and BScThesisMaximilianMeffert.pdf of
maxmeffert/BScThesis as trace-link-thesis. twelfth: minutes.pdf of nikodittmar/Joaquin-Miller-Park-Enduro-Website as
park-commission-minutes, timetable.pdf of csukcc/bus_timetable_converter as bus-timetable, msds.pdf of j3dd3rs/testing
as ethyl-acetate-sds, reglement.pdf of diedoman/tta as triathlon-reglement, newsletter.pdf of
BNSisterCitiesAdmin/sistercities as sister-cities-newsletter, cookbook.pdf of kevinsprague/Cookbook as home-cookbook,
mietvertrag.pdf of NULLzuEINS/bansin-com as ferienwohnung-mietvertrag, syllabus.docx of drfurtado/kin479 as
motor-control-syllabus, manuscript/manuscript.docx of awconway/zhf-review as thermometer-review, and talk/slides.pdf of
Kiaka007/ithaca-ecology as brief-over-prompt-slides. thirteenth: agreement.docx of databrary/policies,
meetings/2020/2020-03-03.md of openjs-foundation/cross-project-council, pages 37 to 47 of thesis/thesis.pdf of
AlexBaier/bachelorthesis, DOCS/ESP32-EVB-user-manual.pdf of OLIMEX/ESP32-EVB, data_capture/static/data_capture/
03FAC_example.xlsx of 18F/calc, programme.pdf of ggim-tokyo-2020/ggim-tokyo-2020.github.io, cookbook.pdf of
kreativmonkey/Fitnesskueche, statuto.pdf of StudentiUniMi/docs, the slides of 2013/presentations of OWASP/Top10, and
the first 17 messages of Data/0597 to 0614 of cf-convention/mailing-list-archive as one .eml. They are not copied here:
their licences are those of their authors. `data/papers.jsonl` has the questions, written from the pages, each with the
values that answer it, " | " between; "" where none does. The rules for labels and their values were made on the first
group. The second was asked before anybody looked at how it was read; one rule changed afterwards (rows that name no
item). The third was asked so, too, and then the rules for rows, labels over values and columns of text were made; so
was the fourth, and then those for items of lists and for amounts; so were the first 52 questions of the fifth, and
then those for lists and sections that a question names. The last 20 of the fifth, and the sixth, were asked after
that; then one rule changed (a line over an item is not its label). So was the seventh, and then the rules for lists of
prices, for telephone numbers and for what must be achieved when. So was the eighth; then quotes of the opposite,
figures on the line under their label, and items that end in their value. So was the ninth; then one rule changed: a
first row like those below it is no header. So was the tenth; then line numbers of a margin were left out,
double-spaced lines joined, and abbreviations of citations end no sentence. The eleventh and the twelfth are of people
who put things in their own words, whole documents and other languages among them; what answers is a pattern. After the
eleventh, contents were left out of the evidence. The thirteenth is one library of ten kinds and three languages, asked
by somebody who did not know how it is read; then three rules changed (contents whose dots lead in some lines alone,
"Prof.Dr.", the points of a slide that stand under another one). Each group is one library, asked under
`balanced` without a language model and without the web. Prints a page; writes results/papers.md unless a part was
asked for.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Literal

from benchmarks.pages import parse, publish, table
from corpora.judging import evaluator_version
from corpora.papers import GROUPS, HELD_OUT, QUESTIONS
from corpora.rows import read_rows
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.core.types import Answer
from crag.engine import Engine

Outcome = Literal["right", "right, low confidence", "wrong, low confidence", "wrong", "refused"]
OUTCOMES: tuple[Outcome, ...] = ("right", "right, low confidence", "wrong, low confidence", "wrong", "refused")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=Path, required=True, help="the folder of the thirteen groups")
    parser.add_argument("--limit", type=int, default=0, help="the most questions of a group; 0: all")
    parser.add_argument("--out", type=Path, help="where to write papers.md")
    given = parse(parser)
    rows = read_rows(QUESTIONS)
    found: dict[str, Counter[Outcome]] = {}
    kinds: dict[str, Counter[Outcome]] = {}
    for group in GROUPS:
        files = sorted((given.papers / group).glob("*.*"))
        if not files:
            print(f"Skipped: no file in {given.papers / group}.", file=sys.stderr)
            return 2
        with tempfile.TemporaryDirectory() as place:
            engine = Engine(AppConfig.of(data=Path(place)), Keys())
            for _ in engine.add_files([(file.name, file.read_bytes) for file in files]):
                pass
            for row in [row for row in rows if row["group"] == group][: given.limit or None]:
                name = f"{group}, {'with an answer' if row['answer'] else 'without one'}"
                answer = engine.trace(RunRequest(row["question"])).answer
                ended = outcome(row["answer"], answer, row.get("pattern", ""))
                found.setdefault(name, Counter())[ended] += 1
                if row["answer"] and "document" in row:
                    kinds.setdefault(row["document"], Counter())[ended] += 1
            engine.close()
    publish("papers", page(found, kinds), folder=given.folder)
    return 0


def outcome(value: str, answer: Answer | None, pattern: str = "") -> Outcome:
    """Right where the short answer has one of the values as words of its own, or, where none is shown, the text.

    Or where a `pattern` is found in the text.
    """
    if answer is None or answer.abstained:
        return "refused"
    said = answer.short.text if answer.short else answer.text
    values = [re.escape(each.casefold()) for each in value.split(" | ") if each]
    patterns = [rf"(?<![\w.,]){each}(?!\w|[.,]\d)" for each in values]
    if re.search(pattern, answer.text) if pattern else any(re.search(each, said.casefold()) for each in patterns):
        return "right, low confidence" if answer.low_confidence else "right"
    return "wrong, low confidence" if answer.low_confidence else "wrong"


def page(found: dict[str, Counter[Outcome]], kinds: dict[str, Counter[Outcome]]) -> str:
    return "\n".join(
        [
            "# Other people's documents",
            "",
            f"By `python -m benchmarks.papers --papers FOLDER`, evaluator {evaluator_version()}: strategy `balanced`, "
            f"no language model, no web. Rules and weights were made on all groups but {', '.join(HELD_OUT)}.",
            "",
            outcome_table("group", found),
            "",
            "## The last three by kind of document",
            "",
            "Questions with an answer, in people’s own words. After the eleventh, contents are no evidence.",
            "",
            outcome_table("document", kinds),
            "",
        ]
    )


def outcome_table(head: str, found: dict[str, Counter[Outcome]]) -> str:
    """A row for each group of questions, a column for each way in which they end."""
    rows = [[name, counts.total(), *(counts[each] for each in OUTCOMES)] for name, counts in found.items()]
    return table([head, "asked", *OUTCOMES], rows)


if __name__ == "__main__":
    sys.exit(main())
