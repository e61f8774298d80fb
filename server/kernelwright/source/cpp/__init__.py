"""C++ read by tokens, with the standard library alone, so that the worker may read it as well."""
