#!/usr/bin/env python3
"""Links of the documents lead to a file, and to a heading that it has; README leads to every document."""
import glob
import os
import re
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PAGES = [os.path.join(ROOT, name) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")) + glob.glob(os.path.join(ROOT, "tests", "**", "*.md"), recursive=True))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def anchors(path):
    """The anchors of headings, as forges make them: lower case, words with hyphens, a number where one is used again."""
    found = {}
    for heading in re.findall(r"^#+ (.+)$", text_of(path), re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {anchor if not number else "%s-%d" % (anchor, number) for anchor, last in found.items() for number in range(last + 1)}


def links(path):
    """Links in the text. Indented blocks and code are no text."""
    text = re.sub(r"^    .*$", "", text_of(path), flags=re.M)
    return [link for link in LINK.findall(re.sub(r"`[^`\n]*`", "", text)) if "://" not in link and not link.startswith("mailto:")]


class Links(unittest.TestCase):
    def test_links(self):
        checked = 0
        for page in PAGES:
            for link in links(page):
                name, _, anchor = link.partition("#")
                target = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
                where = "%s: %s" % (os.path.relpath(page, ROOT), link)
                self.assertTrue(os.path.exists(target), where)
                if anchor and target.endswith(".md"):
                    self.assertIn(anchor, anchors(target), where)
                checked += 1
        self.assertGreater(checked, 100)

    def test_every_document_can_be_found(self):
        listed = {os.path.normpath(os.path.join(ROOT, link.partition("#")[0])) for link in links(PAGES[0])}
        self.assertEqual([page for page in glob.glob(os.path.join(ROOT, "docs", "*.md")) if page not in listed], [])


if __name__ == "__main__":
    unittest.main()
