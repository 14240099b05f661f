#!/usr/bin/env python3
"""Checks a SARIF log against what version 2.1.0 requires of the objects that Railbird writes: members that must be
there, members that may be there, values from a list. Written from the standard's text (sections 3.13 to 3.59).

usage: check_sarif.py FILE        prints what is wrong, a line each; exit status 1 if anything is
       check_sarif.py --self-test FILE   each of a list of planted errors in FILE must be found
"""
import copy
import json
import re
import sys

LEVELS = {"none", "note", "warning", "error"}
STATES = {"new", "unchanged", "updated", "absent"}
IMPORTANCE = {"important", "essential", "unimportant"}
COLUMNS = {"utf16CodeUnits", "unicodeCodePoints"}

text = (str,)
number = (int,)
flag = (bool,)
bag = (dict,)

# object -> member -> (required, type or object or [element] or set of values)
OBJECTS = {
    "log": {"$schema": (False, text), "version": (True, {"2.1.0"}), "runs": (True, ["run"])},
    "run": {"tool": (True, "tool"), "invocations": (False, ["invocation"]), "results": (False, ["result"]),
            "originalUriBaseIds": (False, bag), "columnKind": (False, COLUMNS)},
    "tool": {"driver": (True, "component")},
    "component": {"name": (True, text), "version": (False, text), "rules": (False, ["rule"])},
    "rule": {"id": (True, text), "name": (False, text), "shortDescription": (False, "message string"),
             "fullDescription": (False, "message string"), "help": (False, "message string"),
             "defaultConfiguration": (False, "configuration"), "properties": (False, bag)},
    "configuration": {"level": (False, LEVELS)},
    "message string": {"text": (True, text)},
    "invocation": {"executionSuccessful": (True, flag), "toolExecutionNotifications": (False, ["notification"])},
    "notification": {"level": (False, LEVELS), "message": (True, "message")},
    "result": {"ruleId": (False, text), "ruleIndex": (False, number), "level": (False, LEVELS),
               "message": (True, "message"), "locations": (False, ["location"]),
               "relatedLocations": (False, ["location"]), "codeFlows": (False, ["code flow"]),
               "stacks": (False, ["stack"]), "partialFingerprints": (False, bag),
               "occurrenceCount": (False, number), "baselineState": (False, STATES), "properties": (False, bag)},
    "message": {"text": (True, text)},
    "location": {"id": (False, number), "physicalLocation": (False, "physical location"),
                 "logicalLocations": (False, ["logical location"]), "message": (False, "message")},
    "physical location": {"artifactLocation": (False, "artifact location"), "region": (False, "region"),
                          "address": (False, "address")},
    "artifact location": {"uri": (False, text), "uriBaseId": (False, text)},
    "region": {"startLine": (True, number), "startColumn": (False, number)},
    "address": {"relativeAddress": (False, number), "absoluteAddress": (False, number)},
    "logical location": {"fullyQualifiedName": (False, text), "kind": (False, text)},
    "code flow": {"threadFlows": (True, ["thread flow"])},
    "thread flow": {"id": (False, text), "locations": (True, ["thread flow location"])},
    "thread flow location": {"location": (False, "location"), "nestingLevel": (False, number),
                             "importance": (False, IMPORTANCE)},
    "stack": {"message": (False, "message"), "frames": (True, ["frame"])},
    "frame": {"location": (False, "location"), "module": (False, text)},
}
NOT_EMPTY = {"thread flow": "locations", "code flow": "threadFlows", "log": "runs"}
URI = re.compile(r"^(file:///)?([A-Za-z0-9._~/+@,-]|%[0-9A-F]{2})+$")


def walk(value, kind, path, errors):
    if isinstance(kind, list):
        if not isinstance(value, list):
            errors.append(f"{path}: expected an array")
        else:
            for i, element in enumerate(value):
                walk(element, kind[0], f"{path}[{i}]", errors)
    elif isinstance(kind, set):
        if value not in kind:
            errors.append(f"{path}: {value!r} is not one of {sorted(kind)}")
    elif isinstance(kind, tuple):
        if not isinstance(value, kind) or (kind == number and isinstance(value, bool)):
            errors.append(f"{path}: {value!r} is not {kind[0].__name__}")
    elif not isinstance(value, dict):
        errors.append(f"{path}: expected an object ({kind})")
    else:
        members = OBJECTS[kind]
        for key in value:
            if key not in members:
                errors.append(f"{path}.{key}: not a member of {kind}")
        for key, (needed, inner) in members.items():
            if key in value:
                walk(value[key], inner, f"{path}.{key}", errors)
            elif needed:
                errors.append(f"{path}.{key}: missing in {kind}")
        if kind in NOT_EMPTY and not value.get(NOT_EMPTY[kind]):
            errors.append(f"{path}.{NOT_EMPTY[kind]}: must not be empty")
        special(value, kind, path, errors)


def special(value, kind, path, errors):
    """What the tables cannot say."""
    if kind == "physical location" and not {"artifactLocation", "address"} & set(value):
        errors.append(f"{path}: neither artifactLocation nor address")
    if kind == "artifact location":
        if not URI.match(str(value.get("uri"))):
            errors.append(f"{path}.uri: {value.get('uri')!r} is not a URI reference")
        if "uriBaseId" in value and str(value.get("uri")).startswith("file:"):
            errors.append(f"{path}.uri: absolute in spite of uriBaseId")
    if kind == "region":
        for key, n in value.items():
            if isinstance(n, int) and n < 1:
                errors.append(f"{path}.{key}: {n} is below 1")
    if kind == "result":
        if isinstance(value.get("occurrenceCount", 1), int) and value.get("occurrenceCount", 1) < 1:
            errors.append(f"{path}.occurrenceCount: below 1")
        for key, print_ in value.get("partialFingerprints", {}).items():
            if not re.fullmatch(r"[A-Za-z]+/v\d+", key) or not re.fullmatch(r"[0-9a-f]{16}", str(print_)):
                errors.append(f"{path}.partialFingerprints: {key}: {print_!r}")
        ids = [x.get("id") for x in value.get("relatedLocations", []) if isinstance(x, dict)]
        if len(set(ids)) != len(ids):
            errors.append(f"{path}.relatedLocations: the same id twice")
    if kind == "run":
        rules = value.get("tool", {}).get("driver", {}).get("rules", [])
        bases = value.get("originalUriBaseIds", {})
        for i, result in enumerate(value.get("results", [])):
            index = result.get("ruleIndex", 0)
            if not (isinstance(index, int) and index < len(rules)) or rules[index].get("id") != result.get("ruleId"):
                errors.append(f"{path}.results[{i}]: ruleId is not that of rule {index}")
        for name, base in bases.items():
            if not str(base.get("uri", "")).endswith("/"):
                errors.append(f"{path}.originalUriBaseIds.{name}: does not end with a slash")
        for name in set(re.findall(r'"uriBaseId": "([^"]*)"', json.dumps(value))):
            if name not in bases:
                errors.append(f"{path}: uriBaseId {name} is not defined")


def check(log):
    errors = []
    walk(log, "log", "log", errors)
    return errors


def self_test(log):
    """A checker that finds nothing wrong proves nothing until it has found something."""
    def at(x, *keys):
        for key in keys:
            x = x[key]
        return x
    run = ("runs", 0)
    result = run + ("results", 0)
    place = result + ("locations", 0, "physicalLocation")
    planted = [
        ("version", lambda x: x.update(version="2.0.0")),
        ("no tool", lambda x: at(x, *run).pop("tool")),
        ("no message", lambda x: at(x, *result).pop("message")),
        ("level", lambda x: at(x, *result).update(level="fatal")),
        ("state", lambda x: at(x, *result).update(baselineState="old")),
        ("line 0", lambda x: at(x, *place, "region").update(startLine=0)),
        ("unknown member", lambda x: at(x, *result).update(line=3)),
        ("a path as URI", lambda x: at(x, *place, "artifactLocation").update(uri="a b.c")),
        ("no frames", lambda x: at(x, *result, "stacks", 0).pop("frames")),
        ("an empty flow", lambda x: at(x, *result, "codeFlows", 0, "threadFlows", 0).update(locations=[])),
        ("rule", lambda x: at(x, *result).update(ruleIndex=1)),
        ("fingerprint", lambda x: at(x, *result, "partialFingerprints").update({"x/v1": "12"})),
        ("count", lambda x: at(x, *result).update(occurrenceCount=0)),
        ("text is a number", lambda x: at(x, *result, "message").update(text=3)),
    ]
    missed = []
    for name, damage in planted:
        damaged = copy.deepcopy(log)
        damage(damaged)
        if not check(damaged):
            missed.append(f"planted error not found: {name}")
    return missed


def main():
    with open(sys.argv[-1], encoding="utf-8") as f:
        log = json.load(f)
    wrong = self_test(log) if sys.argv[1] == "--self-test" else check(log)
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


main()
