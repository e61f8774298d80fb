// What it has is in front of each text already.
