"""Triton's interpreter, hardened until what a GPU would do otherwise ends a call: `hardened` puts it all in place."""
