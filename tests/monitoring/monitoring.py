"""What the tests of deploy/monitoring read: the rules, the dashboard, the metrics that berth has."""
import json
import os
import re
import shutil
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "deploy", "monitoring")
# Metrics that Prometheus makes, and one of the page /metrics/resources, which has no row in families.def.
OTHERS = {"up", "kube_pod_resource_request"}
KEYWORDS = {"and", "or", "unless", "bool", "group_left", "group_right"}


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def needs(program):
    """Skips a test where there is no such program of Debian's package prometheus."""
    return unittest.skipUnless(shutil.which(program), "there is no %s; tools/install-deps test installs it" % program)


def rules():
    """The rules as Prometheus reads them: what the PrometheusRule has under `spec`."""
    spec = text_of("deploy", "monitoring", "rules.yaml").split("\nspec:\n")[1]
    return re.sub(r"^  ", "", spec, flags=re.M)


def alerts():
    """The text of each alert by its name. There is no YAML in Python's standard library; the layout is that of our file."""
    parts = re.split(r"^ *- alert: (\w+)\n", rules(), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2]))


def expression(alert):
    """The expression in the text of an alert."""
    return re.search(r"expr: \|-\n((?: {6}.*\n)+)", alert)[1]


def dashboard():
    return json.loads(text_of("deploy", "monitoring", "dashboard.json"))


def panels():
    """The panels of the dashboard, each with the title of its row."""
    row = None
    for panel in dashboard()["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
        else:
            yield row, panel


def names(query):
    """The metrics of a PromQL expression: words that are neither functions, keywords, labels, strings nor durations."""
    query = re.sub(r'"[^"]*"', "", query)
    query = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", query)
    query = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", query)
    query = re.sub(r"\boffset\s+\w+", " ", query)
    return {word for word in re.findall(r"(?<![\w.$])[a-zA-Z_:][\w:]*\b(?!\s*\()", query) if word not in KEYWORDS}


def families():
    """The metrics in families.def, with the series of histograms."""
    found = set()
    rows = re.findall(r'\bFAMILY\(\s*\w+,\s*(\w+),\s*\w+,\s*"(\w+)"', text_of("src", "observe", "families.def"))
    for kind, name in rows:
        ends = ("_bucket", "_sum", "_count") if kind == "HISTOGRAM" else ("",)
        found |= {name + end for end in ends}
    return found
