"""burnish mcp"""

from __future__ import annotations

from burnish.cli.session import start_dir


def mcp() -> None:
    """Serve this repository's tasks to an agent, over MCP.

    It speaks the Model Context Protocol on standard input and output. The client can list and add tasks, read
    findings and events, dispute a finding, ask for a review and wait. It cannot approve, waive or merge.

    Register it in the client, e.g. claude mcp add burnish -- burnish mcp. Over HTTP, `burnish serve` answers at
    /mcp/PROJECT with its token.
    """
    from burnish.mcp.server import serve_stdio

    serve_stdio(start_dir())
