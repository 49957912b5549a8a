"""A node of the built binary for as long as a `with` lasts, on free ports and with a folder of its own."""
import json
import os
import select
import signal
import subprocess
import time

START_SECONDS = 60
STOP_SECONDS = 30


class Node:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.process, self.address = binary, folder, None, None

    def __enter__(self):
        os.makedirs(self.folder)
        command = [self.binary, 'serve', '--ready-json', '--data-dir', os.path.join(self.folder, 'data'), '--listen', '127.0.0.1:0',
                   '--admin-listen', 'off', '--amqp-listen', '127.0.0.1:0']
        self.log = open(os.path.join(self.folder, 'node.log'), 'w')
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL)
        ready = b''
        deadline = time.monotonic() + START_SECONDS
        while not ready.endswith(b'\n'):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                break
            part = os.read(self.process.stdout.fileno(), 65536)
            if not part:
                break
            ready += part
        if not ready.endswith(b'\n'):
            self.__exit__()
            raise SystemExit('the node did not get ready; see %s' % self.log.name)
        self.address = json.loads(ready)['amqp_listen']
        # The vhost spelled out: some clients take the path '/' for the vhost ''.
        self.url = 'amqp://guest:guest@%s/%%2F' % self.address
        return self

    def alive(self):
        return self.process.poll() is None

    def __exit__(self, *_):
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
