"""The settings that all sections of the benchmark share."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmark import peers
from benchmark.data import Data, Pair
from benchmark.process import Program


@dataclass
class Context:
    """The program under test, the data, and the requested parts of the benchmark."""

    program: Program
    data: Data
    pairs: list[Pair]
    peers: list[str]
    headers: int
    presets: list[str]
    transforms: int
    #: Folder with registrations of the section `multimodal` that were run earlier; None to run them now.
    registrations: Path | None = None
    peer_results: dict[tuple[str, Pair], peers.PeerResult] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        """Temporary folder into which the benchmark's registrations write their files."""
        return self.program.work

    def peer(self, name: str, pair: Pair) -> peers.PeerResult:
        """Register a pair with another program. A repeated call returns the result of the first call."""
        if (name, pair) not in self.peer_results:
            prefix = str(self.work / f"{name}_{pair.moving}_to_{pair.fixed}_")
            print(f"  {name} {pair.name}", file=sys.stderr, flush=True)
            fixed, moving = self.data.t1(pair.fixed), self.data.t1(pair.moving)
            self.peer_results[name, pair] = peers.register(name, fixed, moving, prefix, self.program.threads)
        return self.peer_results[name, pair]
