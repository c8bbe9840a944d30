"""Tables larger than memory, block by block, in this process, in several, or on many machines.

`source` cuts files into blocks; a stage is a pure function of a block and a small state; `engines` map it
over the blocks; `job` keeps what is finished, so that nothing is computed twice.
"""

from whyclust.blocks.engines import Engine, engine_of
from whyclust.blocks.explaining import explain_frame
from whyclust.blocks.job import Job
from whyclust.blocks.lazy import LazyExplanation
from whyclust.blocks.source import Block, Source, find_source

__all__ = ["Block", "Engine", "Job", "LazyExplanation", "Source", "engine_of", "explain_frame", "find_source"]
