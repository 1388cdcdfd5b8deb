"""Network files: what is written is what is built, and whatever is wrong is one clear line."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sprintprof.networks import Network, load_network
from sprintprof.networks.builtin import FILES
from sprintprof.networks.reader import network_from
from sprintprof.records import InputError
from sprintprof.records.tomlfile import parse_toml

BASIC = """
input = [3, 8, 8]
layers = [
  { name = "a", kind = "conv", filters = 4, kernel = 3, pad = 1 },
  { kind = "relu" },
  { kind = "conv", filters = 4, kernel = [1, 3], pad = [0, 1], bias = false },
  { name = "sum", kind = "add", inputs = ["relu1", "conv1"] },
  { kind = "linear", features = 10 },
]
"""


def build(text: str) -> Network:
    return network_from(parse_toml(text.encode(), "net.toml"), "net.toml", "net")


def wrong(text: str) -> str:
    with pytest.raises(InputError) as caught:
        build(text)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy
    return str(caught.value)


def layer(text: str, before: str = "", rest: str = "") -> str:
    return f"input = [3, 8, 8]\nlayers = [\n{before}{{ {text} }},\n]\n{rest}"


def test_layers_names_inputs_and_shapes() -> None:
    net = build(BASIC)
    assert [x.name for x in net.layers] == ["a", "relu1", "conv1", "sum", "linear1"]
    assert [x.inputs for x in net.layers] == [(-1,), (0,), (1,), (1, 2), (3,)]
    assert [x.output_shape for x in net.layers] == [(4, 8, 8)] * 4 + [(10,)]
    assert net.layer_parameters == (4 * 27 + 4, 0, 4 * 4 * 3, 0, 256 * 10 + 10)
    assert net.multiply_adds == 64 * (4 * 27 + 4 * 12) + 2560


def test_inline_tables_and_table_headers_are_the_same() -> None:
    long = 'input = [3, 8, 8]\n[[layers]]\nkind = "conv"\nfilters = 4\nkernel = 3\n[[layers]]\nkind = "relu"\n'
    short = 'input = [3, 8, 8]\nlayers = [{ kind = "conv", filters = 4, kernel = 3 }, { kind = "relu" }]\n'
    assert build(long) == build(short)


def test_blocks_repeat_nest_and_take_parameters() -> None:
    net = build(
        layer('name = "s", block = "outer", repeat = 2, width = 5')
        + """
[blocks.inner]
defaults = { kernel = 3 }
layers = [
  { name = "conv", kind = "conv", filters = "$width", kernel = "$kernel", pad = [1, 1] },
  { name = "skip", kind = "conv", inputs = "input", filters = "$width", kernel = 1 },
  { kind = "add", inputs = ["conv", "skip"] },
]
[blocks.outer]
layers = [{ name = "i", block = "inner", width = "$width" }, { kind = "relu" }]
"""
    )
    assert [x.name for x in net.layers] == [
        f"s.{i}.{n}" for i in (0, 1) for n in ("i.conv", "i.skip", "i.add1", "relu1")
    ]
    assert net.layers[4].inputs == (3,)
    assert net.layers[5].inputs == (3,)
    assert net.layers[4].output_shape == (5, 8, 8)


def test_outer_layers_can_read_inside_blocks_and_blocks_can_have_two_inputs() -> None:
    net = build(
        """
input = [3, 8, 8]
layers = [
  { name = "down", block = "two" },
  { name = "up", block = "join", inputs = ["down", "down.first"] },
]
[blocks.two]
layers = [{ name = "first", kind = "relu" }, { name = "second", kind = "relu" }]
[blocks.join]
layers = [{ kind = "add", inputs = ["input", "input2"] }]
"""
    )
    assert net.layers[-1].inputs == (1, 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["net.toml", "lacks the key 'input'"]),
        ("input = [3, 8, 8]", ["lacks the key 'layers'"]),
        ("input = [3, 8, 8]\nlayers = []", ["layers", "is empty"]),
        ("input = [3, 8, 8]\nlayers = [1]", ["layers[0]", "is 1;", "a table"]),
        ("input = [3, -8, 8]\nlayers = []", ["input[1]", "is -8", "at least 1"]),
        ("input = 3\nlayers = []", ["input", "list"]),
        ("input = [3, 8, 8", ["is not TOML", "at end of document"]),
        (BASIC + "colour = 1", ["no key 'colour'"]),
        (layer('kind = "conv", filters = 4, kernel = 3, stide = 2'), ["layer 1", "no key 'stide'", "mean stride?"]),
        (layer('kind = "cnov", filters = 4, kernel = 3'), ["layer 1", "kind", "'cnov'", "mean conv?"]),
        (layer("filters = 4, kernel = 3"), ["layer 1", "lacks the key 'kind'"]),
        (layer('name = "c", kind = "conv", kernel = 3'), ["layer 'c'", "filters", "is missing"]),
        (layer('kind = "conv", filters = "4", kernel = 3'), ["layer 1", "filters", 'is "4"; write a whole number']),
        (layer('kind = "conv", filters = true, kernel = 3'), ["layer 1", "filters", "is true; write a whole number"]),
        (layer('kind = "conv", filters = -4, kernel = 3'), ["layer 1", "filters", "is -4", "at least 1"]),
        (layer('kind = "conv", filters = 4, kernel = 3.5'), ["layer 1", "kernel", "is 3.5; write a whole number or a list"]),
        (layer('kind = "conv", filters = 4, kernel = [3, 3, 3]'), ["layer 1", "kernel", "a list of at most 2 entries"]),
        (layer(f'kind = "conv", filters = {10**30}, kernel = 3'), ["layer 1", "filters"]),
        (layer('kind = "conv", filters = 2000000000, kernel = [8, 8], pad = 2000000000'), ["layer 'conv1'", "elements"]),
        (layer('kind = "conv", filters = 4, kernel = 11'), ["layer 'conv1'", "kernel", "11", "8"]),
        (layer('kind = "conv", filters = 4, kernel = 3, groups = 2'), ["layer 'conv1'", "groups", "is 2, which does not divide the 3 input channels"]),
        (layer('kind = "pool", kernel = 2, pad = 2'), ["layer 'pool1'", "pad", "half"]),
        (layer('kind = "pool", kernel = 2, mode = "median"'), ["layer 1", "mode", 'is "median"; write one of max, average']),
        (layer('kind = "add"'), ["layer 'add1'", "inputs", "2 to 64, not 1"]),
        (layer('kind = "relu", inputs = ["input", "input"]'), ["layer 'relu1'", "inputs", "has 1, not 2"]),
        (layer('kind = "relu", inputs = []'), ["layer 'relu1'", "inputs", "has 1, not 0"]),
        (layer('kind = "relu", inputs = "nowhere"'), ["layer 1", "no layer 'nowhere' before it"]),
        (layer('name = "r", kind = "relu", inputs = "r"'), ["layer 1 'r'", "is this layer or comes after it"]),
        (layer('kind = "relu"', '{ kind = "relu", inputs = "z" }, { name = "z", kind = "relu" }, '), ["'z'", "cycles"]),
        (layer('name = "a", kind = "relu"', '{ name = "a", kind = "relu" }, '), ["layer 2 'a'", "is taken"]),
        (layer('name = "input", kind = "relu"'), ["'input' is taken"]),
        (layer('name = "a b", kind = "relu"'), ["'a b' is not a name"]),
        (layer('name = "", kind = "relu"'), ["'' is not a name"]),
        (layer('kind = "linear", features = 1', '{ name = "x", kind = "relu" }, { kind = "relu", inputs = "input" }, '),
         ["layer 'x'", "read by no layer"]),
        (layer('kind = "add", inputs = ["input", "c"]', '{ name = "c", kind = "conv", filters = 3, kernel = 3 }, '),
         ["layer 'add1'", "different shapes", "3×8×8", "3×6×6"]),
        (layer('kind = "conv", filters = 1, kernel = 1', '{ kind = "flatten" }, '), ["layer 'conv1'", "wants an image"]),
        (layer('block = "none"'), ["block", "there is no block 'none'"]),
        (layer('block = "b", kind = "relu"'), ["both"]),
        (layer('block = "b"', rest="[blocks.b]\nlayers = []"), ["blocks.b", "no layers"]),
        (layer('block = "b"', rest='[blocks.b]\nlayers = [{ block = "b" }]'), ["go round", "b in b"]),
        (layer('block = "b"', rest='[blocks.b]\nlayers = [{ kind = "linear", features = "$n" }]'), ["'$n'", "features"]),
        (layer('block = "b", m = 1', rest='[blocks.b]\nlayers = [{ kind = "linear", features = "$n" }]'),
         ["m", "not a parameter of 'b'"]),
        (layer('block = "b", n = "x"', rest='[blocks.b]\nlayers = [{ kind = "linear", features = "$n" }]'),
         ["layer 1 of block 'b'", "features", 'is "x"', "whole number"]),
        (layer('block = "b", repeat = 0', rest='[blocks.b]\nlayers = [{ kind = "relu" }]'), ["repeat", "at least 1"]),
        (layer('block = "b", repeat = 9999999', rest='[blocks.b]\nlayers = [{ kind = "relu" }]'), ["repeat", "10000"]),
        (layer('block = "b"', rest='[blocks.b]\nlayers = [{ kind = "relu" }]\nwidth = 1'), ["blocks.b", "width", "known are defaults, layers"]),
        (layer('kind = "dropout", rate = 1.0'), ["rate"]),
        (layer('kind = "dropout", rate = nan'), ["rate"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(text: str, words: list[str]) -> None:
    message = wrong(text)
    assert [w for w in words if w not in message] == []


def test_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    for name, raw, words in [
        ("none.toml", None, "cannot be read"),
        ("latin.toml", b'title = "\xe9t\xe9"', "line 1 is not UTF-8"),
        ("zero.toml", b"\x00" * 100, "is not TOML"),
        ("big.toml", b"# " + b"x" * 10_000_000, "larger than"),
        ("deep.toml", b"\n".join([b"a = " + b"[" * 3000]), "nested too deeply"),
        ("line.toml", b"a." * 200_000 + b"a = 1", "longer than"),
        ("dots.toml", b"a." * 1000 + b"a = 1", "dots"),
        ("digits.toml", b"input = [1" + b"0" * 3900 + b"]", "input"),
    ]:
        path = tmp_path / name
        if raw is not None:
            path.write_bytes(raw)
        with pytest.raises(InputError, match=words):
            load_network(path)
    with pytest.raises(InputError, match="cannot be read"):
        load_network(tmp_path)


def test_unknown_names_get_near_matches() -> None:
    with pytest.raises(InputError, match="did you mean resnet50"):
        load_network("resnet-50")
    with pytest.raises(InputError, match=r"\(No such file"):
        load_network("mine/net.toml")


HOSTILE = {
    "repeats in repeats": layer('block = "b0", repeat = 9999')
    + "".join(f'[blocks.b{i}]\nlayers = [{{ block = "b{i + 1}", repeat = 9999 }}]\n' for i in range(12))
    + '[blocks.b12]\nlayers = [{ kind = "relu" }]',
    "a chain of blocks": layer('block = "b0"')
    + "".join(f'[blocks.b{i}]\nlayers = [{{ block = "b{i + 1}" }}]\n' for i in range(3000))
    + '[blocks.b3000]\nlayers = [{ kind = "relu" }]',
    "dotted keys": "\n".join(f"k{i}" + ".a" * 48 + " = 1" for i in range(4900)),
    "many layers, the last wrong": layer('kind = "relu", inputs = "' + "n" * 3000 + '"', '{ kind = "relu" },\n' * 9000),
    "many long names": layer(
        'kind = "relu", inputs = "' + "n" * 190 + '"',
        "".join(f'{{ name = "{"n" * 180}{i}", kind = "relu" }},\n' for i in range(4000)),
    ),
    "many keys": layer(", ".join(f"k{i} = 1" for i in range(300))),
    "nested lists": layer('kind = "conv", filters = ' + "[" * 200 + "]" * 200),
}


def test_hostile_files_are_refused_and_stay_small(tmp_path: Path) -> None:
    code = (
        "import pathlib, resource, sys\nfrom sprintprof.networks import load_network\n"
        "from sprintprof.records import InputError\n"
        "for path in sys.argv[1:]:\n"
        "    try: load_network(pathlib.Path(path)); print('accepted', path)\n"
        "    except InputError: pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    for number, text in enumerate(HOSTILE.values()):
        (tmp_path / f"{number}.toml").write_text(text)
    files = sorted(map(str, tmp_path.glob("*.toml")))
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, check=True, timeout=120)
    assert len(files) == len(HOSTILE)
    assert int(done.stdout) < 1 << 20  # KiB


SEEDS = [path.read_bytes() for path in sorted(FILES.glob("*.toml")) if path.stem in ("lenet5", "resnet18", "vgg11")]
TOKENS = [b'"$width"', b"-1", b"0", b"1e9", b"99999999999", b"[]", b"{}", b'"add"', b'"input"', b'""', b"nan", b"true"]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_mutated_files_are_a_network_or_an_input_error(data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        length = data.draw(st.integers(0, 30))
        raw = raw[:start] + data.draw(st.sampled_from(TOKENS) | st.binary(max_size=6)) + raw[start + length :]
    net = None
    with contextlib.suppress(InputError):
        net = network_from(parse_toml(raw, "m.toml"), "m.toml", "m")
    if net is None:
        return
    assert net.parameters >= 0
    assert all(min(x.output_shape) >= 1 for x in net.layers)
    assert net.kernel_calls(2)
