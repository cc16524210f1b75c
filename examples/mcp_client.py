"""A client of the Model Context Protocol that starts `crag mcp`, adds a document, asks, and reads what was cited.

python -m examples.mcp_client [QUESTION]
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import Implementation

PAGE = Path("samples/web/ntsb-chi08ca047.html")
SERVER = StdioServerParameters(
    command=sys.executable,
    args=["-m", "crag", "mcp", "--workspace", "examples-mcp", "--new"],
    # Without this a server gets none of the variables that configure it: the protocol's clients hand on only a few.
    env={name: value for name, value in os.environ.items() if name.startswith("CRAG_")},
)


async def told(progress: float, total: float | None, message: str | None) -> None:
    print(f"  {progress:g}: {message}")


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool returns. A tool's own failure is text for the model; here it ends the program."""
    result = await client.call_tool(tool, arguments, progress_callback=told)
    if result.is_error or result.structured_content is None:
        raise SystemExit(" ".join(getattr(part, "text", "") for part in result.content))
    return dict(result.structured_content)


async def main(question: str) -> None:
    async with Client(SERVER, client_info=Implementation(name="examples/mcp_client.py", version="1")) as client:
        print("Tools:", *(tool.name for tool in (await client.list_tools()).tools))
        added = await called(client, "add_document", name=PAGE.name, text=PAGE.read_text(encoding="utf-8"))
        print(f"{added['name']}: {added['status']}, {added['chunks']} chunks")
        found = await called(client, "ask", question=question)
        print(f"{found['action']}: {found['answer']}")
        for cited in found["citations"]:
            read = await client.read_resource(cited["uri"])
            print(f"[{cited['number']}] {cited['source']}, {len(getattr(read.contents[0], 'text', ''))} characters")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "On what did the Cessna skid after landing at Wausau?"))
