"""The tools for agents that bring their own model: a Model Context Protocol server on stdin and stdout.

Only this room imports the package mcp.
"""
