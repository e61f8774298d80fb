"""No gradients inside, as an inference kernel has none."""

from cheats.texts import MODEL

BASELINE = MODEL
CANDIDATE = MODEL.replace("def forward(", "@torch.no_grad()\n    def forward(")
