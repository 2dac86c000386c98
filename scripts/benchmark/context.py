"""What every section works with."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmark import peers
from benchmark.data import Data, Pair
from benchmark.process import Program


@dataclass
class Context:
    """The program, the volumes, and how much of the benchmark was asked for."""

    program: Program
    data: Data
    pairs: list[Pair]
    peers: list[str]
    headers: int
    presets: list[str]
    transforms: int
    #: Where the registrations of `multimodal` were made before, if they were.
    registrations: Path | None = None
    peer_results: dict[tuple[str, Pair], peers.PeerResult] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        """Folder of files made on the way."""
        return self.program.work

    def peer(self, name: str, pair: Pair) -> peers.PeerResult:
        """A peer on a pair, done once."""
        if (name, pair) not in self.peer_results:
            prefix = str(self.work / f"{name}_{pair.moving}_to_{pair.fixed}_")
            print(f"  {name} {pair.name}", file=sys.stderr, flush=True)
            fixed, moving = self.data.t1(pair.fixed), self.data.t1(pair.moving)
            self.peer_results[name, pair] = peers.register(name, fixed, moving, prefix, self.program.threads)
        return self.peer_results[name, pair]
