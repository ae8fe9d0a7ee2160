# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A headless Chromium that opens pages from files, and what tests ask of them."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.common.exceptions import SessionNotCreatedException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.remote_connection import RemoteConnection

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PHONE, DESK = 390, 1280
# What A4 leaves between margins of 12 mm, in CSS pixels of 1/96 inch.
A4 = int((210 - 2 * 12) / 25.4 * 96)
# A busy host may take long for a command.
PATIENCE = 300

# Text with too little contrast, with its colour and the colour behind it. Behind text in HTML is
# the nearest background; behind text in a plot, the topmost shape under the text's middle.
CONTRAST = """
const parts = (c) => { const m = c.match(/[\\d.]+/g) || []; return m.map(Number); };
const clear = (c) => c === 'none' || (parts(c).length === 4 && parts(c)[3] === 0);
const over = (top, below) => {
  const [r, g, b, a = 1] = parts(top); const under = parts(below);
  return `rgb(${[r, g, b].map((v, i) => v * a + under[i] * (1 - a)).join(', ')})`;
};
const light = (c) => {
  const [r, g, b] = parts(c).map((v) => v / 255).map(
    (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (a, b) => {
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
const behind = (element) => {
  const found = [];
  for (let at = element; at; at = at.parentElement) {
    const c = getComputedStyle(at).backgroundColor;
    if (!clear(c)) { found.push(c); if (parts(c).length < 4) break; }
  }
  return found.reverse().reduce((below, top) => over(top, below), 'rgb(255, 255, 255)');
};
const bad = [];
const judge = (words, ink, paper) => {
  const found = ratio(over(ink, paper), paper);
  if (found < arguments[0]) bad.push([words.trim().slice(0, 40), ink, paper, found]);
};
let texts = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || element.closest('svg')) continue;
  texts += 1;
  judge(walker.currentNode.data, getComputedStyle(element).color, behind(element));
}
let letters = 0;
for (const svg of document.querySelectorAll('svg')) {
  for (const text of svg.querySelectorAll('text')) {
    text.scrollIntoView({block: 'center', inline: 'center'});
    const box = text.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const under = document.elementsFromPoint(x, y).find((each) =>
      svg.contains(each) && each.tagName !== 'text' && each.tagName !== 'svg' &&
      each.tagName !== 'g' && !clear(getComputedStyle(each).fill) &&
      !getComputedStyle(each).fill.startsWith('url') &&
      each.isPointInFill(new DOMPoint(x, y).matrixTransform(each.getScreenCTM().inverse())));
    const paper = under ? getComputedStyle(under).fill : behind(svg);
    judge('plot: ' + text.textContent, getComputedStyle(text).fill, paper);
    letters += 1;
  }
}
return {bad: bad, texts: texts, letters: letters};
"""
# Elements that extend beyond the right edge of the page, unless a box around them scrolls.
TOO_WIDE = """
const edge = document.documentElement.clientWidth + 1;
const scrolls = (e) => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
const inside = (e) => { for (let at = e.parentElement; at; at = at.parentElement)
  if (scrolls(at)) return true; return false; };
return [...document.querySelectorAll('body *')].filter((e) => !e.closest('defs') &&
  e.getBoundingClientRect().right > edge && !inside(e)).map(
  (e) => `${e.tagName} ${e.className.baseVal ?? e.className} ` +
    `${e.getBoundingClientRect().right} ${e.textContent.slice(0, 40)}`);
"""


class Browser:
    """One browser for all pages."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def cdp(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Ask the browser through its DevTools protocol."""
        answer: Mapping[str, Any] = self.driver.execute_cdp_cmd(command, arguments)
        return answer

    def ask(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page, and return what it returns."""
        return self.driver.execute_script(script, *arguments)

    def look(self, width: int, *, dark: bool = False, paper: bool = False) -> None:
        """Emulate a phone or a desktop of that width, light or dark, or a sheet of paper."""
        phone = width < 600
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=phone,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", media="print" if paper else "", features=[scheme])

    def open(self, page: Path, *, folds: bool = False) -> None:
        """Open a file, and with ``folds`` all its folded parts."""
        self.logs()
        self.driver.get(page.as_uri())
        if folds:
            self.ask("document.querySelectorAll('details').forEach((d) => { d.open = true; });")

    def logs(self) -> tuple[list[str], list[str]]:
        """Return the console's messages and the requested addresses since the last call."""
        console = [f"{entry['level']}: {entry['message']}" for entry in self._log("browser")]
        events = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        asked = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return console, asked

    def _log(self, kind: str) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.driver.get_log(kind)  # type: ignore[no-untyped-call]
        return entries

    def key(self, name: str) -> None:
        """Press and release a key."""
        code = {"Tab": 9, "Enter": 13}[name]
        text = {"text": "\r"} if name == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.cdp(
                "Input.dispatchKeyEvent",
                type=kind, key=name, code=name, windowsVirtualKeyCode=code,
                **(text if kind == "keyDown" else {}),
            )  # fmt: skip

    def pdf(self) -> bytes:
        """The page as it is printed, on the paper that its style asks for."""
        made = self.cdp("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        return base64.b64decode(made["data"])


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """A browser whose profile is in a folder; it ends with the block."""
    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for word in (
        "--headless=new",
        "--no-sandbox",  # as root in a container there is none
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--hide-scrollbars",
        f"--user-data-dir={folder}",
    ):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    os.environ["SE_OFFLINE"] = "true"
    try:
        driver = Chrome(options=options, service=Service(str(DRIVER)))
    except SessionNotCreatedException as error:
        # The driver says only that the browser exited; the browser says why.
        words = [str(CHROMIUM), "--headless", "--no-sandbox", "--dump-dom", "about:blank"]
        said = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
        raise AssertionError(f"{CHROMIUM} does not start: {said.stderr[-300:].strip()}") from error
    try:
        assert isinstance(driver.command_executor, RemoteConnection)
        driver.command_executor.client_config.timeout = PATIENCE
        driver.set_page_load_timeout(PATIENCE)
        driver.set_script_timeout(PATIENCE)
        yield Browser(driver)
    finally:
        driver.quit()
