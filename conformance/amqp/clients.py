"""One scenario with each client that people use for RabbitMQ's streams, against a node and through a proxy that is cut.

Each program publishes m0 to m99 with confirms, waits for the next second of the clock, publishes m100 to m199, and reads
from each start position: `first`, offset 150, that second, the interval `1h`, `last`; then `next` and the interval `1s`, both
on consumers that are there before one more message is published. At last it reads all again through a proxy that cuts the
connection after the 60th and the 120th message, and goes on from the one after the newest that it handled. It prints
what it got as JSON; what it has to be is here, once for all of them.
"""
import asyncio
import json
import os
import time

SECONDS = 90        # for one client; it takes about six


def expected():
    def span(first, end):
        return [[n, 'm%d' % n] for n in range(first, end)]
    return {
        'first': span(0, 200), 'offset': span(150, 200), 'timestamp': span(100, 200), 'interval': span(0, 200),
        'last': span(199, 200), 'next': span(200, 201), 'interval_of_now': span(201, 202),
        'resumed': span(0, 202), 'lost': 2,
    }


def commands(tools):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'clients')
    python = os.path.join(tools, 'venv', 'bin', 'python')
    # node looks for packages beside the program, so the programs are run where the packages are.
    node = os.path.join(tools, 'node')
    jars = ':'.join('/usr/share/java/%s.jar' % name for name in ('amqp-client', 'slf4j-api'))
    return {
        'pika': [python, os.path.join(here, 'pika_client.py')],
        'aio-pika': [python, os.path.join(here, 'aio_pika_client.py')],
        'amqplib': ['node', os.path.join(node, 'amqplib.js')],
        'amqp-connection-manager': ['node', os.path.join(node, 'connection-manager.js')],
        'lapin': [os.path.join(tools, 'lapin', 'debug', 'lapin-client')],
        'java': ['java', '-cp', jars, os.path.join(here, 'java', 'Client.java')],
    }


class Proxy:
    """Passes bytes on to the node; whoever connects to its other port cuts all connections at once, without a word to either side."""

    def __init__(self, host, port):
        self.host, self.port, self.writers = host, port, set()

    async def start(self):
        self.server = await asyncio.start_server(self.passing, '127.0.0.1', 0)
        self.control = await asyncio.start_server(self.cut, '127.0.0.1', 0)
        return [s.sockets[0].getsockname()[1] for s in (self.server, self.control)]

    def stop(self):
        self.server.close()
        self.control.close()

    async def passing(self, reader, writer):
        there, out = await asyncio.open_connection(self.host, self.port)
        self.writers |= {writer, out}

        async def pump(source, sink):
            try:
                while data := await source.read(65536):
                    sink.write(data)
                    await sink.drain()
            except OSError:
                pass
            sink.close()
        await asyncio.gather(pump(reader, out), pump(there, writer))
        self.writers -= {writer, out}

    async def cut(self, _, writer):
        for each in self.writers:
            each.transport.abort()
        self.writers.clear()
        writer.close()


async def run(name, command, url, proxied, cutter):
    """What is wrong with what the client got; nothing when all is right."""
    stream = 'client.%s.%s' % (name, os.urandom(3).hex())
    try:
        process = await asyncio.create_subprocess_exec(
            *command, url, proxied, str(cutter), stream, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    except OSError as error:
        return '%s: %s' % (command[0], error)
    try:
        out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
        return 'it did not end within %d s' % SECONDS
    tail = err.decode(errors='replace')[-2000:]
    if process.returncode:
        return 'exit %d: %s' % (process.returncode, tail)
    try:
        got = json.loads(out.decode().strip().splitlines()[-1])
    except (ValueError, IndexError):
        return 'it printed no result: %s' % tail
    wrong = []
    for step, want in expected().items():
        if got.get(step) != want:
            wrong.append('%s: wanted %s, got %s' % (step, short(want), short(got.get(step))))
    return '; '.join(wrong)


def short(value):
    text = json.dumps(value)
    return text if len(text) < 300 else '%s ... %s' % (text[:140], text[-140:])


async def run_all(node, tools, only):
    host, port = node.address.rsplit(':', 1)

    async def one(name, command):
        proxy, began = Proxy(host, int(port)), time.monotonic()
        through, cutter = await proxy.start()
        wrong = await run(name, command, node.url, node.url.replace(node.address, '127.0.0.1:%d' % through), cutter)
        proxy.stop()
        print('%s client %s (%.1f s)%s' % ('FAIL' if wrong else 'PASS', name, time.monotonic() - began, wrong and ': ' + wrong), flush=True)
        return bool(wrong)

    chosen = {name: command for name, command in commands(tools).items() if not only or name in only}
    return sum(await asyncio.gather(*(one(*each) for each in chosen.items()))), len(chosen)
