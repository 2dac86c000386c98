"""The parts of the benchmark, in the order in which they run and are printed.

A section is a function from a Context to a Report. Its name is what --only takes and what stands in the comments of
docs/benchmarks.md.
"""

from benchmark.sections import determinism, exchange, flirt, headers, multimodal, pairs, poses

SECTIONS = {
    "affine": pairs.affine,
    "syn": pairs.syn,
    "headers": headers.headers,
    "poses": poses.poses,
    "orientation": poses.orientation,
    "multimodal": multimodal.multimodal,
    "exchange": exchange.exchange,
    "flirt": flirt.flirt,
    "determinism": determinism.determinism,
}
