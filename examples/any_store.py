"""Any vector store of LangChain, corrected: here its own in-memory store, filled with the sample's web pages.

python -m examples.any_store [QUESTION]
"""

import html
import re
import sys

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from crag import Engine, RunRequest
from crag.integrations.langchain import CragEmbeddings, CragRetriever, retriever_of


def show(title: str, found: list[Document]) -> None:
    print(f"{title}: {len(found)}")
    for document in found:
        score = document.metadata.get("score")
        print(
            f"  {'' if score is None else f'{score:.2f} '}{document.metadata['source']}: {document.page_content[:90]}"
        )


engine = Engine()
store = InMemoryVectorStore(CragEmbeddings(engine))
for file in sorted(engine.sample().web.glob("*.html")):
    page = html.unescape(file.read_text(encoding="utf-8"))
    (title,), texts = re.findall("<h1>(.*)</h1>", page), re.findall("<p>(.*?)</p>", page, flags=re.DOTALL)
    store.add_documents([Document(text, metadata={"source": file.name, "title": title}) for text in texts])

question = " ".join(sys.argv[1:]) or "On what did the Cessna skid after landing at Wausau?"
found = store.similarity_search(question, k=10)
show("The store alone", found)

# The whole run: the store retrieves, and what it finds is graded, refined and, where it falls short, searched again.
corrected = CragRetriever(engine, source=store, workspace="examples")
show("Corrected", corrected.invoke(question))

# The same as an answer with citations, without LangChain around it.
answer = engine.answer(RunRequest(question, workspace="examples", retriever=retriever_of(store)))
print("Answered:", answer.text, [cited.source for cited in answer.citations])
engine.close()
