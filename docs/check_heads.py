"""Checks signed heads, and logs against them, without the program that made them: for auditors and regulators.

    python check_heads.py --public-key key.pem REPORT [CHAIN...]

REPORT is any text that signed heads were copied into: a mail, a page, the JSON of a report. A CHAIN is what
`manage.py export_chain` wrote, given as NAME=FILE, where NAME is as in the statement: ``table:B01``, ``trail:B01``,
``trail:house``. Needs Python 3.9 and the package `cryptography`; reads nothing but these files. The fingerprint that is
printed is to be compared with the one that the house handed over on paper. Exit 0: all is as it was signed; 1: it is
not; 2: a file cannot be read.
"""

import argparse
import base64
import hashlib
import json
import re
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

TITLE = "baccarat-audit signed heads 1"
WORDS = {"house": 1, "number": 1, "previous": 1, "signed": 1, "report": 4, "table": 3, "trail": 3, "key": 1}
# How long the last of these words is: pieces of it are put together again.
LENGTHS = {"previous": 64, "signed": 32, "report": 64, "table": 64, "trail": 64, "key": 64, "signature": 88}


def statements(text):
    """Each statement in a text, as it was signed, with its signature; broken lines are mended, quoting is left out."""
    text = re.sub(r"(?m)^[ \t]*>[> \t]*", "", text.replace("\\n", "\n"))
    for found in re.finditer(r"baccarat-audit\s+signed\s+heads\s+1\b", text):
        words = iter(text[found.end() :].split())
        lines = [TITLE]
        for word in words:
            if word == "signature":
                yield "".join(line + "\n" for line in lines), base64.b64decode(whole(words, word))
                break
            before = [next(words) for _ in range(WORDS[word] - 1)]
            lines.append(" ".join([word, *before, whole(words, word)]))


def whole(words, kind):
    """The next word, put together from the pieces it was broken into."""
    word = next(words)
    while word != "none" and len(word) < LENGTHS.get(kind, 0):
        word += next(words)
    return word


def chain(path, first):
    """The hashes of a chain's rows by position, made anew. `first`: what the first row hangs on."""
    hashes, previous = {}, hashlib.sha256(first.encode()).hexdigest()
    with open(path, "rb") as file:
        for line in file:
            line = line.rstrip(b"\n")
            previous = hashlib.sha256(previous.encode() + b"\n" + line).hexdigest()
            hashes[json.loads(line)["seq"]] = previous
    return hashes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--public-key", required=True)
    parser.add_argument("report")
    parser.add_argument("chains", nargs="*", metavar="NAME=FILE")
    asked = parser.parse_args()
    with open(asked.public_key, "rb") as file:
        key = serialization.load_pem_public_key(file.read())
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    print("fingerprint", hashlib.sha256(der).hexdigest())
    with open(asked.report, encoding="utf-8") as file:
        found = list(statements(file.read()))
    if not found:
        print("there are no signed heads in", asked.report)
        return 1
    fine, ends = True, {}
    house = ""
    for text, signature in found:
        said = [line.split() for line in text.splitlines()]
        house, number, signed = said[1][1], said[2][1], said[4][1]
        try:
            key.verify(signature, text.encode())
            print(f"signed heads {number} of {house}, {signed}: the signature is genuine")
        except InvalidSignature:
            print(f"signed heads {number} of {house}: THE SIGNATURE IS NOT GENUINE")
            fine = False
            continue
        for words in said:
            if words[0] in ("table", "trail"):
                ends.setdefault(f"{words[0]}:{words[1]}", {})[int(words[2])] = (words[3], number)
    for chained in asked.chains:
        name, _, path = chained.partition("=")
        kind, _, code = name.partition(":")
        first = f"baccarat-audit table log 1\n{code}"
        if kind == "trail":
            of = f"house {house}" if code == "house" else f"table {code}"
            first = f"baccarat-audit trail 1\ntrail of {of}"
        hashes = chain(path, first)
        if name not in ends:
            print(f"{name}: THE SIGNED HEADS SAY NOTHING OF IT")
            fine = False
        for seq, (hashed, number) in sorted(ends.get(name, {}).items()):
            same = hashes.get(seq) == hashed
            fine = fine and same
            print(f"{name}: {'as' if same else 'NOT AS'} signed heads {number} say up to position {seq}")
    return 0 if fine else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, KeyError, StopIteration, RuntimeError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
