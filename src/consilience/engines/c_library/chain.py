"""The No-U-Turn Sampler in an exported library: its functions, and the memory of a chain before its first transition.

In: a sampler's settings, the dimension of a density and the scratch memory of its program. Out: loop programs, and the
C text of a chain. Outside: the density, the folder.
"""

from __future__ import annotations

import numpy as np

from consilience.engines.c_library.code import c_type
from consilience.engines.c_library.image import Image, image_of
from consilience.engines.exported import Exported, size
from consilience.inference import NUTS
from consilience.inference.block import block_of
from consilience.inference.density import Density, open_density
from consilience.inference.nuts import NutsInfo
from consilience.inference.nuts_chain import SCHEDULE, NutsScratch, NutsState, start_nuts, step_nuts
from consilience.inference.point import Point, new_point
from consilience.inference.streams import TREE, purpose_key
from consilience.inference.vectors import Vectors
from consilience.inference.warmup import EARLY_SHARE, FINAL_SHARE
from consilience.native.loops import Module
from consilience.native.random import fold_in
from consilience.native.random.library import fill
from consilience.native.random.library import symbol as draw_symbol
from consilience.native.typed_python import boolean, i64, native
from consilience.native.typed_python.records import address, layout, zeros
from consilience.native.typed_python.translate import translate
from consilience.record import Record

NORMALS = "random_normals"


@native(rare=True)
def begin_chain(
    point: Point,
    state: NutsState,
    scratch: NutsScratch,
    density: Density,
    info: NutsInfo,
    seed: i64,
    chain: i64,
    tune: i64,
) -> boolean:
    """Begin chain number `chain` of the runs with a seed; False if the density is not finite where `point` is."""
    key = fold_in(seed, chain)
    warmup = state.warmup
    point.key = key
    scratch.nuts.trajectory.key = purpose_key(key, TREE)
    warmup.length = tune
    warmup.early = int(EARLY_SHARE * float(tune))
    warmup.final = tune - int(FINAL_SHARE * float(tune))
    state.learning = SCHEDULE if tune > 0 else 0
    return start_nuts(point, state, scratch, density, info)


class Unplaced(Record):
    """A density whose code and data have no addresses yet."""

    dimension: int
    workspace: int
    entry: int = 0
    constants: int = 0


class ChainMemory(Record, eq=False):
    """A chain before its first transition: its memory, and where its records begin in it."""

    image: Image
    point: int
    position: int
    state: int
    scratch: int
    density: int
    info: int


def chain_of(settings: NUTS, dimension: int, workspace: int, own: str) -> ChainMemory:
    """The memory of a chain whose functions have names that begin with `own`."""
    target = Unplaced(dimension, workspace)
    vectors = Vectors(dimension)
    block = block_of(target, (), "gradient")
    point = new_point(0, np.zeros(dimension), vectors)
    density = open_density(target, np.zeros(1, np.int64))
    state = settings.state(block, point, vectors, 1)
    scratch = settings.scratch(block, point, state, density, vectors)
    info = zeros(NutsInfo)
    symbols = {
        ("Density", "entry"): f"{own}_program",
        ("Density", "constants"): f"{own}_constants",
        ("Point", "normals"): f"{own}_normals",
    }
    records = (point, state, scratch, density, info)
    image = image_of(list(records), symbols)  # type: ignore[arg-type]  # records, which type checkers see as classes
    places = [image.begins[address(record)] for record in records]
    position = image.begins[int(np.asarray(point.position).ctypes.data)]
    return ChainMemory(image, places[0], position, *places[1:])


def functions(own: str, lanes: int) -> list[Module]:
    """The sampler's loop programs: `own_start`, `own_step` and `own_normals`."""
    normals = fill(NORMALS, lanes)
    name = draw_symbol(NORMALS, lanes)
    (function,) = [f for f in normals.functions.values() if f.name == name]
    normals.functions = {f"{own}_normals" if f is function else n: f for n, f in normals.functions.items()}
    function.name = f"{own}_normals"
    return [translate({f"{own}_start": begin_chain, f"{own}_step": step_nuts}), normals]


def statistics(own: str) -> str:
    """The C structure of what a transition tells."""
    described = layout(NutsInfo)
    fields = "".join(
        f"    {'double' if type_.kind == 'f64' else 'int64_t'} {name};\n"
        for name, type_ in zip(described.names, described.types, strict=True)
    )
    return f"typedef struct {{\n{fields}}} {own}_statistics;\n"


def declarations(own: str, chain: ChainMemory) -> str:
    """What the header says of chains."""
    return f"""
/* A chain of the No-U-Turn Sampler. It lives in {own.upper()}_CHAIN bytes of memory, of one thread at a time. */
#define {own.upper()}_CHAIN {chain.image.size + 64}

/* What the last transition was like; names are those of PyMC. */
{statistics(own)}
/* Begin chain number `chain` of a run at a position, with `tune` transitions at the beginning in which it tunes itself.
 * Gives 0, or 1 where the log density or its gradient is not finite. The same seed and chain give the same draws. */
int64_t {own}_begin(void *memory, int64_t seed, int64_t chain, int64_t tune, const double *position);

/* Make one transition and write the new position. `statistics` may be NULL. Gives 0. */
int64_t {own}_transition(void *memory, double *position, {own}_statistics *statistics);
"""


def source(own: str, chain: ChainMemory, dimension: int) -> str:
    """The C file of chains: their memory before the first transition, and both functions of the header."""
    words = "".join(f"    {{{place}, {_word(word)}}},\n" for place, word in chain.image.words) or "    {0, 0},\n"
    inside = "".join(f"    {{{place}, {to}}},\n" for place, to in chain.image.inside)
    outside = "".join(f"    address = (intptr_t){symbol};\n    memcpy(begin + {place}, &address, 8);\n"
                      for place, symbol in chain.image.outside)  # fmt: skip
    records = ", ".join(
        f"begin + {place}" for place in (chain.point, chain.state, chain.scratch, chain.density, chain.info)
    )
    return f"""\
#include <stddef.h>
#include <string.h>

#include "{own}.h"

int64_t {own}_program(char *inputs, char *outputs, char *workspace, char *constants);
void {own}_normals(int64_t key, int64_t counter, char *out, int64_t n);
bool {own}_start(char *point, char *state, char *scratch, char *density, char *info,
                 int64_t seed, int64_t chain, int64_t tune);
bool {own}_step(char *point, char *state, char *scratch, char *density, char *info);
extern const void *const {own}_constants[];

/* Words of a chain's memory that are not 0: where, and what. */
static const int64_t words[][2] = {{
{words}}};

/* Words that are addresses of other places of the memory. */
static const int64_t inside[][2] = {{
{inside}}};

static char *aligned(void *memory)
{{
    return (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
}}

int64_t {own}_begin(void *memory, int64_t seed, int64_t chain, int64_t tune, const double *position)
{{
    char *begin = aligned(memory);
    int64_t address;
    memset(begin, 0, {chain.image.size});
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        memcpy(begin + words[i][0], &words[i][1], 8);
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {{
        address = (intptr_t)(begin + inside[i][1]);
        memcpy(begin + inside[i][0], &address, 8);
    }}
{outside}    memcpy(begin + {chain.position}, position, {8 * dimension});
    return !{own}_start({records}, seed, chain, tune);
}}

int64_t {own}_transition(void *memory, double *position, {own}_statistics *statistics)
{{
    char *begin = aligned(memory);
    const bool moved = {own}_step({records});
    char *point;
    memcpy(&point, begin + {chain.point + 8 * layout(Point).names.index("position")}, sizeof point);
    memcpy(position, point, {8 * dimension});
    if (statistics)
        memcpy(statistics, begin + {chain.info}, sizeof *statistics);
    return !moved;
}}
"""


def example(own: str, values: Exported, dimension: int) -> str:
    """A program that prints draws on the variables' own scales."""
    named = list(zip(values.outputs, values.output_names, strict=True))
    arrays = "".join(f"    static {c_type(node)} value_{name}[{max(1, size(node))}];\n" for node, name in named)
    titles, numbers = [], []
    for node, name in named:
        floating = "float" in node.dtype
        number = f"{'(double)' if floating else '(long long)'}value_{name}[k]"
        form = "%.17g" if floating else "%lld"
        element = f'printf("{name}[%d],", k)' if node.ndim else f'printf("{name},")'
        loop = f"for (int k = 0; k < {size(node)}; k++)"
        titles.append(f"    {loop}\n        {element};\n")
        numbers.append(f'        {loop}\n            printf("{form},", {number});\n')
    arguments = ", ".join(["position", *(f"value_{name}" for name in values.output_names), "workspace"])
    return f"""\
/* Prints draws of {own} and their log densities, one per line: ./sample SEED TUNE DRAWS */
#include <stdio.h>
#include <stdlib.h>

#include "{own}.h"

int main(int count, char **numbers)
{{
    const int64_t seed = count > 1 ? strtoll(numbers[1], NULL, 10) : 1;
    const int64_t tune = count > 2 ? strtoll(numbers[2], NULL, 10) : 1000;
    const int64_t draws = count > 3 ? strtoll(numbers[3], NULL, 10) : 1000;
    static double position[{dimension}];
{arrays}    static char workspace[{values.name.upper()}_WORKSPACE];
    {own}_statistics statistics;
    void *memory = malloc({own.upper()}_CHAIN);

    if (!memory || {own}_begin(memory, seed, 0, tune, position)) {{
        fprintf(stderr, "the log density is not finite at 0\\n");
        return 1;
    }}
{"".join(titles)}    printf("lp\\n");
    for (int64_t i = 0; i < tune + draws; i++) {{
        {own}_transition(memory, position, &statistics);
        if (i < tune)
            continue;
        {values.name}({arguments});
{"".join(numbers)}        printf("%.17g\\n", statistics.lp);
    }}
    free(memory);
    return 0;
}}
"""


def _word(word: int) -> str:
    return "INT64_MIN" if word == -(2**63) else f"INT64_C({word})"
