"""Which calls are made of a candidate, and what each check asks: `gate` is the way in, `comparison` what one call shows.

`cases` plans the calls, `effort` how many there are of each kind; all other files are one kind of call or check each.
"""
