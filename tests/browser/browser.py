"""Drives a headless Chromium over the WebDriver protocol of chromedriver, with the standard library only.

    class TestPage(browser.Case):
        def test_title(self):
            page = self.open("file:///tmp/report.html")
            page.click("button.sort")
            self.assertEqual(page.text("h1"), "...")

A Case has one browser for all of its tests. After each test it fails if the page wrote an error to the console or asked for
anything but itself. Where Chromium is not installed, the tests are skipped by name.
"""
import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import cli  # noqa: E402
from ports import free_port  # noqa: E402

PROGRAMS = ("chromium", "chromedriver")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how WebDriver writes a reference to an element
# As WebDriver's text of a key.
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Space": " ", "End": "\ue010", "Home": "\ue011",
        "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015", "Shift": "\ue008"}
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--no-default-browser-check", "--force-color-profile=srgb", "--hide-scrollbars"]
WAIT_S = 30
# Roles whose elements need a name.
NAMED = {"button", "link", "combobox", "searchbox", "textbox", "application", "region", "navigation", "table", "image"}


def missing():
    return [program for program in PROGRAMS if not shutil.which(program)]


class Failure(Exception):
    """What WebDriver answered instead of a result."""


class Browser:
    """One window. `insecure`: certificates are not checked, for a server with its own."""

    def __init__(self, width=1280, height=900, insecure=False):
        self.folder = tempfile.mkdtemp(prefix="berth-browser-")
        self.port = free_port()
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "TZ": "UTC", "LANG": "C.UTF-8"}
        self.driver = subprocess.Popen(["chromedriver", "--port=%d" % self.port], env=environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = None
        try:
            self._wait_for_driver()
            self._start(width, height, insecure)
        except BaseException:
            self.close()
            raise

    def _wait_for_driver(self):
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                if self._request("GET", "/status")["ready"]:
                    return
            except (OSError, ValueError):
                if time.monotonic() > deadline or self.driver.poll() is not None:
                    raise Failure("chromedriver does not answer") from None
                time.sleep(0.05)

    def _start(self, width, height, insecure):
        arguments = [*ARGUMENTS, "--user-data-dir=" + os.path.join(self.folder, "data"),
                     "--window-size=%d,%d" % (width, height)]
        wanted = {"browserName": "chrome", "acceptInsecureCerts": insecure,
                  "goog:chromeOptions": {"args": arguments, "binary": shutil.which("chromium")},
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = self._request("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        self.size(width, height)

    def _request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path), data, method=method,
                                         headers={"Content-Type": "application/json"})
        # A proxy of the environment is for other hosts.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise Failure("%s: %s" % (value["error"], value["message"].split("\n")[0])) from None

    def _ask(self, path, body=None):
        return self._request("POST" if body is not None else "GET", "/session/%s/%s" % (self.session, path), body)

    def command(self, name, **parameters):
        """A command of the DevTools protocol."""
        return self._ask("goog/cdp/execute", {"cmd": name, "params": parameters})

    def close(self):
        if self.session:
            with contextlib.suppress(OSError, Failure):
                self._request("DELETE", "/session/" + self.session)
        self.driver.terminate()
        self.driver.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- the window ----

    def size(self, width, height, scale=1):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def scheme(self, name):
        """"light" or "dark", as the user prefers."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name},
                                                             {"name": "prefers-reduced-motion", "value": "reduce"}])

    def open(self, url):
        """`url` may be the path of a file."""
        self._ask("url", {"url": url if "://" in url else "file://" + os.path.abspath(url)})

    def screenshot(self, path, selector=None, height=None):
        """The page, or one element with what is around it by 12 pixels; at most `height` pixels of it."""
        box = self.run("""const e = document.querySelector(arguments[0]), b = e.getBoundingClientRect(), around = e === document.body ? 0 : 12;
            return [b.left + scrollX - around, b.top + scrollY - around, b.width + 2 * around, b.height + 2 * around];""",
                       selector or "body")
        options = {"format": "png", "captureBeyondViewport": True,
                   "clip": {"x": max(0, box[0]), "y": max(0, box[1]), "width": box[2], "height": min(box[3], height or 1e9), "scale": 1}}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.command("Page.captureScreenshot", **options)["data"]))

    # ---- what is in it ----

    def run(self, script, *arguments):
        """The result of a script, which finds its arguments in `arguments`."""
        return self._ask("execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self._ask("element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self._ask("element/%s/click" % self.find(selector), {})

    def choose(self, selector, text):
        """The option of a select that has this text."""
        found = self.run("""const select = document.querySelector(arguments[0]);
            const option = [...select.options].find((o) => o.text === arguments[1]);
            if (!option) return false;
            select.value = option.value;
            select.dispatchEvent(new Event("change", { bubbles: true }));
            return true;""", selector, text)
        if not found:
            raise Failure("%s has no option %s" % (selector, text))

    def type(self, selector, text):
        self._ask("element/%s/value" % self.find(selector), {"text": text})

    def press(self, *keys):
        """Keys by name ("ArrowDown"), or letters, to what has the focus. "Shift+Tab" is both together."""
        actions = []
        for key in keys:
            together = [KEYS.get(name, name) for name in (key.split("+") if len(key) > 1 else [key])]
            actions += [{"type": "keyDown", "value": value} for value in together]
            actions += [{"type": "keyUp", "value": value} for value in reversed(together)]
        self._ask("actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def point(self, selector, x=0.5, y=0.5):
        """Moves the mouse over an element, to a share of its width and height."""
        box = self.run("""const element = document.querySelector(arguments[0]);
            element.scrollIntoView({ block: "center", behavior: "instant" });
            const b = element.getBoundingClientRect(); return [b.left, b.top, b.width, b.height];""", selector)
        self._ask("actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                                           "actions": [{"type": "pointerMove", "duration": 0,
                                                        "x": int(box[0] + box[2] * x), "y": int(box[1] + box[3] * y)}]}]})

    def text(self, selector):
        """As it is seen, whitespace collapsed."""
        return self.run("return document.querySelector(arguments[0]).innerText.trim().replace(/\\s+/g, ' ');", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map("
                        "(e) => e.innerText.trim().replace(/\\s+/g, ' '));", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length;", selector)

    def attribute(self, selector, name):
        return self.run("return document.querySelector(arguments[0]).getAttribute(arguments[1]);", selector, name)

    def focused(self):
        """What has the focus, as "TAG NAME"."""
        return self.run("const e = document.activeElement;"
                        "return e.tagName.toLowerCase() + ' ' + (e.getAttribute('aria-label') || e.innerText || '').trim();")

    def wait(self, script, *arguments):
        """Until the script returns something that is true, which is returned."""
        deadline = time.monotonic() + WAIT_S
        while not (found := self.run(script, *arguments)):
            if time.monotonic() > deadline:
                raise Failure("in %d s never true: %s" % (WAIT_S, script))
            time.sleep(0.02)
        return found

    # ---- what it did ----

    def problems(self):
        """What was written to the console since the last call, with level warning or above."""
        return [entry["message"] for entry in self._ask("se/log", {"type": "browser"})
                if entry["level"] in ("WARNING", "SEVERE")]

    def requests(self):
        """The addresses that were asked for since the last call; data: is in the page itself."""
        found = []
        for entry in self._ask("se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return [url for url in found if not url.startswith(("data:", "chrome://"))]


@unittest.skipIf(missing(), "there is no %s; tools/install-deps test installs it" % " and no ".join(missing()))
class Case(cli.Case):
    """Tests with one browser, and berth."""
    insecure = False

    @classmethod
    def setUpClass(cls):
        cls.page = Browser(insecure=cls.insecure)
        cls.addClassCleanup(cls.page.close)

    def setUp(self):
        super().setUp()
        self.page.open("about:blank")
        self.page.requests()
        self.page.problems()
        self.page.scheme("light")
        self.allowed = set()

    def tearDown(self):
        self.assertEqual(self.page.problems(), [])
        self.assertEqual([url for url in self.page.requests() if url != "about:blank" and not self.is_allowed(url)], [])
        super().tearDown()

    def is_allowed(self, url):
        """May the page have asked for it? A page that talks with a server says so here."""
        return url in self.allowed

    def open(self, url):
        """Opens a page; a path is that of a file. When this returns, its scripts have run."""
        if "://" not in url:
            url = "file://" + os.path.abspath(url)
        self.allowed.add(url)
        self.page.open(url)
        return self.page

    def check_names(self):
        """A screen reader has a name for all that can have the focus, and for every picture and table."""
        for found in self.page.command("Accessibility.getFullAXTree")["nodes"]:
            role = found.get("role", {}).get("value")
            if role in NAMED and not found.get("ignored"):
                self.assertTrue(found.get("name", {}).get("value"), "a %s without a name: %s" % (role, found))

    def report(self, *arguments, code=0):
        """Runs a command with -o json and --html; opens the page, and returns it with the document."""
        path = self.path("report.html")
        result = self.berth(*arguments, "-o", "json", "--html", path)
        self.assertEqual(result.code, code, result.err)
        page = self.open(path)
        page.wait("return document.querySelector('footer') !== null;")
        self.check_names()
        return page, result.json


def main():
    unittest.main(verbosity=1)
