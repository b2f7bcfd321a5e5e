"""Saved transforms taken apart and put together again, with what the tests damage."""

import json
import struct

SUFFIXES = [".safetensors", ".npz"]


def parts_of(data):
    """Header (a dict) and arrays (bytes) of a safetensors file."""
    length = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def joined(header, arrays):
    text = json.dumps(header).encode() if isinstance(header, dict) else header
    return struct.pack("<Q", len(text)) + text + arrays


def change(data, **entries):
    header, arrays = parts_of(data)
    for name, entry in entries.items():
        if name == "metadata":
            header["__metadata__"] |= entry
        elif entry is None:
            del header[name]
        else:
            header[name] |= entry
    return joined(header, arrays)


def mutations(data, rng, count):
    """Files near a good one: bytes changed, cut, doubled, moved."""
    for _ in range(count):
        bad = bytearray(data)
        for _ in range(rng.integers(1, 5)):
            at, other = rng.integers(len(bad), size=2)
            match rng.integers(6):
                case 0:
                    bad[at] = rng.integers(256)
                case 1:
                    bad[at] ^= 1 << int(rng.integers(8))
                case 2:
                    del bad[at : at + rng.integers(1, 16)]
                case 3:
                    bad[at:at] = rng.bytes(rng.integers(1, 16))
                case 4:
                    bad[at : at + 8] = bad[other : other + 8]
                case 5:
                    bad[at] = ord(rng.choice(list('0123456789-,[]{}"')))
            if not bad:
                break
        yield bytes(bad)
