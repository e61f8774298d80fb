"""How one sample is taken, in the judge and in hosts alike: `timer` times a call, `late` changes its inputs just before."""
