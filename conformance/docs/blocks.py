#!/usr/bin/env python3
"""Runs the code blocks of the pages against a real node, so that what they show is what happens.

usage: blocks.py KELDA [PAGE...]        KELDA is the binary; without PAGE, README.md and every page below docs/

Of each page, in order and in one shell, with `kelda` and `curl` on the path, in an empty folder:

  ```sh               runs. The first failing command fails the page. A reply of 4xx or 5xx to curl fails it too, unless
                      the block says so in a comment, as in `curl … # 409 sealed`; these are compared in order.
  ```sh,interrupt     runs until it printed what follows it, or fell silent; then it gets what Ctrl-C sends.
  ```sh,no_run        does not run; a comment `<!-- not run: reason -->` on the line before says why.
  ```text, ```json    right behind a block that ran, with nothing but empty lines between: what that printed. A line `…`
                      stands for any lines, `…` in a line for anything; times, ids and the like are masked.
  ```json, ```toml    elsewhere: has to parse.    ```rust: has to compile, with nothing but the standard library.

The node of a page has an empty data directory and free ports: 127.0.0.1:4437 and 127.0.0.1:9437 in a block mean its
own. A page with `<!-- starts its own node -->` gets ports and no node; one that its blocks start takes them by default,
and is waited for if starting it is the last thing that a block does. Every wait has a bound, and everything that a page started is ended with it.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK_SECONDS = 60  # for one block; the longest waits of a server are below 30 s
NODE_SECONDS = 30  # for a start or a stop
QUIET_SECONDS = 1.5  # a block that is to be interrupted and shows nothing to wait for
KNOWN = {"sh", "text", "json", "toml", "rust"}
SHELL_MARKS = {"", "interrupt", "no_run"}

MASKS = [  # the replacements keep JSON what it is
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?", "TIME"),
    (r"\b1[6-9]\d{11}\b", "1111111111111"),
    (r"(?i)(stream[-_ ]id\W+)\d+", r"\g<1>7"),
    (r"(?i)^(etag|date|stream-cursor|content-length): .*", r"\1: MASKED"),
    (r'("streamCursor":\s*)"\d+"', r'\1"7"'),
    (r'("?uptime_seconds"?\W+)\d+', r"\g<1>7"),
    (r'("bytes":\s*)\d+', r"\g<1>7"),
    (r'("applied":\s*)"\d+"', r'\1"7"'),
    (r'("version":\s*)"[^"]*"', r'\1"MASKED"'),
    (r"\b[0-9a-f]{32}\b", "0" * 32),
    (r"(?<=[\s\[])\d+(?=\)? (Done|Terminated))", "7"),
]

CURL = """#!/bin/bash
# curl, with the statuses that were errors written down.
exec 3>&1
said=$("{curl}" -w '%{{stderr}}\\n@@%{{http_code}}\\n' "$@" 2>&1 >&3)
code=$?
printf '%s\\n' "$said" | grep -v '^@@' >&2
printf '%s\\n' "$said" | sed -n 's/^@@\\([45]..\\)$/\\1/p' >>"{statuses}"
exit $code
"""
KELDA = """#!/bin/bash
# What is printed about the settings themselves is what everybody has.
case " $* " in *" --print-config "* | *" --help "*) unset KELDA_LISTEN KELDA_ADMIN_LISTEN KELDA_ENDPOINT KELDA_ADMIN ;; esac
exec "{kelda}" "$@"
"""


class Failure(Exception):
    """What is wrong, with the page and the line."""


class Block:
    """A fenced block: its language and marks, its text, and the line of its first line."""

    def __init__(self, info, line, text):
        self.language, _, self.mark = info.partition(",")
        self.line, self.text = line, text
        self.reason = None  # why it does not run
        self.shown = None  # the block behind it that shows what it prints


def blocks_of(page, text):
    """The blocks of a page."""
    found, fence, start, info, body = [], None, 0, "", []
    between, before = ["x"], ""
    for number, line in enumerate(text.splitlines(), 1):
        opening = re.match(r"^(`{3,})(.*)$", line)
        if fence is None and opening:
            fence, info, start, body = opening[1], opening[2].strip(), number, []
        elif fence is not None and line.strip() == fence:
            block = Block(info, start + 1, "\n".join(body) + "\n")
            if block.language not in KNOWN:
                raise Failure(f"{page}:{start}: ```{info}: the language is one of {', '.join(sorted(KNOWN))}")
            reason = re.fullmatch(r"<!-- not run: (.+) -->", before.strip())
            block.reason = reason and reason[1]
            follows = found and not any(part.strip() for part in between)
            if follows and found[-1].language == "sh" and block.language in ("text", "json"):
                found[-1].shown = block
            found.append(block)
            fence, between = None, []
        elif fence is not None:
            body.append(line)
        else:
            between.append(line)
            before = line if line.strip() else before
    if fence is not None:
        raise Failure(f"{page}:{start}: this block does not end")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(seconds, done):
    """Whether `done` became true in time."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def serves(port):
    """Whether a node serves there: one that starts says 503."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/", timeout=5):
            return True
    except OSError:
        return False


def end_session(leader):
    """Ends what is left of a session: what its blocks put into the background."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, ValueError):
            pass


class Page:
    """One page: its shell, its folder and its node."""

    def __init__(self, kelda, path):
        self.kelda, self.path = kelda, path.relative_to(ROOT)
        self.text = path.read_text()
        self.own_node = "<!-- starts its own node -->" in self.text
        self.ran, self.left_out = 0, []

    def check(self):
        blocks = blocks_of(self.path, self.text)
        for block in blocks:
            self.parse(block)
        if not any(block.language == "sh" and block.mark != "no_run" for block in blocks):
            return
        with tempfile.TemporaryDirectory(prefix="kelda-docs-") as folder:
            self.folder = Path(folder)
            node = self.start_node()
            shell = None
            try:
                shell = self.start_shell()
                for block in blocks:
                    if block.language == "sh" and block.mark != "no_run":
                        self.run(shell, block)
                        self.ran += 1
            finally:
                if shell:
                    end_session(shell.pid)
                    shell.kill()
                    shell.wait()
                if node:
                    self.stop_node(node)

    def parse(self, block):
        where = f"{self.path}:{block.line}"
        try:
            if block.language == "sh":
                if block.mark not in SHELL_MARKS:
                    raise Failure(f"{where}: `{block.mark}` is not a mark: there are interrupt and no_run")
                if block.mark == "no_run":
                    if not block.reason:
                        raise Failure(f"{where}: say why above it: <!-- not run: reason -->")
                    self.left_out.append(f"{where}: {block.reason}")
            elif block.language == "json":
                json.loads(block.text)
            elif block.language == "toml":
                tomllib.loads(block.text)
            elif block.language == "rust":
                compile_rust(where, block.text)
        except ValueError as error:
            raise Failure(f"{where}: not {block.language}: {error}") from error

    def start_node(self):
        if self.own_node:
            self.port, self.admin = free_port(), free_port()
            return None
        node = subprocess.Popen(
            [self.kelda, "serve", "--ready-json", "--data-dir", self.folder / "node", "--listen", "127.0.0.1:0",
             "--amqp-listen", "off", "--admin-listen", "127.0.0.1:0", "--log", "warn"],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, stderr=(self.folder / "node.log").open("w"),
            env=clean_environment(), cwd=self.folder,
        )  # fmt: skip
        signal.alarm(NODE_SECONDS)
        try:
            ready = node.stdout.readline()
        finally:
            signal.alarm(0)
            if sys.exc_info()[0]:
                node.kill()
        if not ready:
            raise Failure(f"{self.path}: the node does not start: {(self.folder / 'node.log').read_text()}")
        ready = json.loads(ready)
        self.port, self.admin = (int(ready[at].rpartition(":")[2]) for at in ("listen", "admin_listen"))
        return node

    def stop_node(self, node):
        node.terminate()
        try:
            code = node.wait(NODE_SECONDS)
        except subprocess.TimeoutExpired:
            node.kill()
            code = node.wait()
        if code != 0 and sys.exc_info()[0] is None:
            raise Failure(f"{self.path}: the node ended with {code}: {(self.folder / 'node.log').read_text()}")

    def start_shell(self):
        bin_folder = self.folder / "bin"
        for name in ("bin", "cwd", "home", "blocks"):
            (self.folder / name).mkdir()
        self.statuses = self.folder / "statuses"
        curl = shutil.which("curl")
        if not curl:
            raise Failure("curl is missing")
        for name, text in (("curl", CURL), ("kelda", KELDA)):
            (bin_folder / name).write_text(text.format(curl=curl, statuses=self.statuses, kelda=self.kelda))
            (bin_folder / name).chmod(0o755)
        environment = clean_environment() | {
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "KELDA_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "KELDA_LISTEN": f"127.0.0.1:{self.port}",
            "KELDA_ADMIN_LISTEN": f"127.0.0.1:{self.admin}",
            "KELDA_ADMIN": f"http://127.0.0.1:{self.admin}",
        }
        log = (self.folder / "shell.log").open("w")
        return subprocess.Popen(
            ["bash", "--noprofile", "--norc"], stdin=subprocess.PIPE, stdout=log, stderr=log, text=True,
            env=environment, cwd=self.folder / "cwd", start_new_session=True,
        )  # fmt: skip

    def run(self, shell, block):
        at = self.folder / "blocks" / str(block.line)
        text = block.text.replace("127.0.0.1:4437", f"127.0.0.1:{self.port}")
        text = text.replace("127.0.0.1:9437", f"127.0.0.1:{self.admin}")
        # As many lines before it as in the page, so that what bash says names the line of the page.
        Path(f"{at}.sh").write_text("\n" * (block.line - 1) + text)
        self.statuses.write_text("")
        source = f"source {at}.sh >{at}.out 2>{at}.err </dev/null"
        trap = f"set -eE; trap 'echo $LINENO >{at}.failed' ERR"
        if block.mark == "interrupt":
            send(shell, f"set -m; ( {trap}; {source} ) & at=$!; set +m; echo $at >{at}.pid; wait $at; echo $? >{at}.done")
            self.interrupt(block, at)
        else:
            send(shell, f"{trap}\n{source}\ntrap - ERR; set +eE; echo 0 >{at}.done")
        done = Path(f"{at}.done")
        ended = wait_until(BLOCK_SECONDS, lambda: shell.poll() is not None or has_text(done))
        code = done.read_text().strip() if has_text(done) else None
        accepted = {"0", "130"} if block.mark == "interrupt" else {"0"}
        if not ended or code not in accepted:
            failed = Path(f"{at}.failed")
            line = failed.read_text().split()[0] if has_text(failed) else block.line
            what = f"a command fails (exit code {code or shell.poll()})" if ended else f"it runs for {BLOCK_SECONDS} s"
            raise Failure(f"{self.path}:{line}: {what}\n{self.printed(at)}")
        self.compare(block, at, text)
        if self.own_node and re.search(r"kelda serve\b.*&\s*\Z", block.text):
            if not wait_until(NODE_SECONDS, lambda: serves(self.port)):
                raise Failure(f"{self.path}:{block.line}: the node that it starts does not answer\n{self.printed(at)}")

    def interrupt(self, block, at):
        """Waits for what the block prints, or for silence, and sends what Ctrl-C sends."""
        out, pid, done = (Path(f"{at}.{kind}") for kind in ("out", "pid", "done"))
        wait_until(NODE_SECONDS, lambda: has_text(pid))
        if block.shown:
            matches = lambda: has_text(done) or self.matches(block.shown, out.read_text() if out.exists() else "")
            wait_until(BLOCK_SECONDS, matches)
        else:
            time.sleep(QUIET_SECONDS)
        group = int(pid.read_text())
        for number in (signal.SIGINT, signal.SIGKILL):
            try:
                os.killpg(group, number)
            except ProcessLookupError:
                return
            if wait_until(5, lambda: has_text(done)):
                return

    def compare(self, block, at, text):
        where = f"{self.path}:{block.line}"
        if block.mark != "interrupt":
            said = re.findall(r"#\s*([45]\d\d)\b", text)
            came = self.statuses.read_text().split()
            if said != came:
                raise Failure(f"{where}: the block says it is answered {said or 'no error'}, and got {came}\n{self.printed(at)}")
        out = Path(f"{at}.out").read_text(errors="replace")
        if block.shown and not self.matches(block.shown, out):
            raise Failure(f"{self.path}:{block.shown.line}: the block before prints something else:\n{self.usual(out)}")

    def usual(self, out):
        """The output with the ports that everybody has."""
        out = out.replace(f"127.0.0.1:{self.port}", "127.0.0.1:4437").replace(f"127.0.0.1:{self.admin}", "127.0.0.1:9437")
        return out.replace(str(self.folder / "cwd"), "").replace("\r", "")

    def matches(self, shown, out):
        out = mask(self.usual(out))
        if shown.language == "json":
            try:
                return json.loads(out) == json.loads(mask(shown.text))
            except ValueError:
                return False
        lines = [
            r"(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"[ \t]*\n"
            for line in mask(shown.text).rstrip().split("\n")
        ]
        return re.fullmatch("".join(lines) + r"\n*", out.rstrip("\n") + "\n") is not None

    def printed(self, at):
        parts = [Path(f"{at}.{kind}") for kind in ("out", "err")]
        text = "".join(part.read_text(errors="replace") for part in parts if part.exists())
        return "\n".join("    " + line for line in text.splitlines()[-20:])


def clean_environment():
    """The environment without settings of Kelda, in one language."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KELDA_")}
    return kept | {"LC_ALL": "C.UTF-8", "no_proxy": "127.0.0.1"}


def send(shell, text):
    try:
        shell.stdin.write(text + "\n")
        shell.stdin.flush()
    except BrokenPipeError:
        pass  # the shell ended; whoever waits for it sees that


def has_text(path):
    return path.exists() and path.stat().st_size > 0


def mask(text):
    for pattern, instead in MASKS:
        text = re.sub(pattern, instead, text, flags=re.M)
    return text


def compile_rust(where, text):
    with tempfile.TemporaryDirectory() as folder:
        command = ["rustc", "--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--out-dir", folder, "-"]
        result = subprocess.run(command, input=text, text=True, capture_output=True)
    if result.returncode != 0:
        raise Failure(f"{where}: it does not compile\n{result.stderr}")


def main():
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("blocks.py: a node printed no ready line in time"))
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    kelda = str(Path(sys.argv[1]).resolve())
    named = [Path(page).resolve() for page in sys.argv[2:]]
    pages = named or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    ran, left_out, failures = 0, [], []
    for path in pages:
        page = None
        try:
            page = Page(kelda, path)
            page.check()
        except Failure as failure:
            failures.append(str(failure))
            print(f"FAILED {failure}", flush=True)
        if page:
            ran += page.ran
            left_out += page.left_out
    print(f"{len(pages)} pages, {ran} blocks ran, {len(left_out)} did not:")
    for line in left_out:
        print(f"  {line}")
    sys.exit(f"{len(failures)} pages failed" if failures else 0)


main()
