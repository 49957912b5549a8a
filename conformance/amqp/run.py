#!/usr/bin/env python3
"""Holds a node against what RabbitMQ 3.10.8 answered, and runs the clients of RabbitMQ against it.

  run.py BINARY --tools DIR [--only probes|clients] [--case NAME ...] [--jobs N] [--probes DIR]

Probes: all cases of probes/ but those that need ordinary queues, compared with probes/rabbitmq-3.10.json. What differs has
to be in differences.toml just as it differs, and what is there has to differ. A difference that is not there is printed as an
entry for it. A case that fails beside others is run once more alone, since many of them wait for what does not come.

Clients: see clients.py.

DIR is where ./check has installed the clients (venv/, node/, lapin/). Exit status 1: something differs or failed.
"""
import argparse
import asyncio
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

import clients
from node import Node

HERE = os.path.dirname(os.path.abspath(__file__))
DIFFERENCES = os.path.join(HERE, 'differences.toml')
# The longest case takes ten seconds; a share has up to a hundred of them.
SHARE_SECONDS = 240

# What needs an ordinary queue, which Kelda does not serve yet; each with what it does with one.
ORDINARY = {
    'classic': 'the group: an ordinary queue beside a stream',
    'amqplib_exchange_and_dlq': 'an ordinary queue for dead letters',
    'bind_fanout_stream_and_classic': 'a fanout to a stream and an ordinary queue',
    'channel_pipelined_requests': 'declares an ordinary queue',
    'conn_oversize_frame': 'declares an ordinary queue',
    'lapin_exchange_and_dlq': 'an ordinary queue for dead letters',
    'pika_exchange_and_dlq': 'an ordinary queue for dead letters',
    'redeclare_stream_over_classic': 'declares an ordinary queue first',
    'redeclare_stream_over_explicit_classic': 'declares an ordinary queue first',
}


def install(probes, tools, work):
    """A copy of the probes beside the clients that they start."""
    copy = os.path.join(work, 'probes')
    shutil.copytree(probes, copy, ignore=shutil.ignore_patterns('__pycache__', 'target', 'node_modules', 'venv'))
    os.makedirs(os.path.join(copy, 'lapin', 'target'), exist_ok=True)
    os.symlink(os.path.join(tools, 'lapin', 'debug'), os.path.join(copy, 'lapin', 'target', 'debug'))
    os.symlink(os.path.join(tools, 'node', 'node_modules'), os.path.join(copy, 'node', 'node_modules'))
    return copy


def probe(python, probes, *arguments):
    command = [python, os.path.join(probes, 'probe.py'), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SHARE_SECONDS)


def check(python, probes, url, names):
    """The difference of each case, '' for those without one."""
    found, current = {}, None
    cases = [argument for name in names for argument in ('--case', name)]
    out = probe(python, probes, '--url', url, '--check', os.path.join(probes, 'rabbitmq-3.10.json'), *cases)
    for line in out.stdout.splitlines():
        verdict, _, rest = line.partition(' ')
        if verdict in ('PASS', 'FAIL'):
            current = rest.split(' ')[0].rstrip(':')
            found[current] = '' if verdict == 'PASS' else [line] if ': not in ' in line else []
        elif line.startswith('    ') and current in names:
            found[current].append(line[4:])
    missing = [name for name in names if name not in found]
    if missing:
        raise SystemExit('probe.py told nothing of %s: %s' % (', '.join(missing), out.stderr[-2000:]))
    # Without the three lines at the head, which say nothing of the case.
    return {name: '\n'.join(lines[2:] if lines[:1] == ['--- recorded'] else lines) for name, lines in found.items()}


def run_probes(options, node, work):
    tools, python = options.tools, os.path.join(options.tools, 'venv', 'bin', 'python')
    probes = install(options.probes, tools, work)
    skips = [argument for name in ORDINARY for argument in ('--skip', name)]
    chosen = [argument for name in options.case for argument in ('--case', name)]
    listed = probe(python, probes, '--list', *skips, *chosen)
    names = [line.split()[1] for line in listed.stdout.splitlines() if ' cases' not in line]
    if not names:
        raise SystemExit('no case to run: %s' % (listed.stderr or ', '.join(options.case)))
    # Dealt out in turn, so that each share has some of the slow ones.
    shares = [names[at::options.jobs] for at in range(options.jobs)]
    seen = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(lambda share: check(python, probes, node.url, share), filter(None, shares)):
            seen.update(found)
    return judge(options, seen, lambda name: check(python, probes, node.url, [name])[name])


def judge(options, seen, again):
    """Compares what differs with what may; gives the number of wrong cases."""
    with open(DIFFERENCES, 'rb') as file:
        listed = {entry['case']: entry for entry in tomllib.load(file).get('difference', [])}
    wrong = 0
    for name in sorted(seen):
        want = listed.get(name, {}).get('seen', '').strip('\n')
        got = seen[name]
        if got != want:
            got = again(name)
            if got == want:
                print('note %s: only beside other cases it answered otherwise:\n%s' % (name, indent(seen[name] or '(no difference)')))
        if got == want:
            continue
        wrong += 1
        if name not in listed:
            print("FAIL %s: this difference is not in differences.toml:\n[[difference]]\ncase = \"%s\"\nwhy = \"\"\nseen = '''\n%s\n'''"
                  % (name, name, got))
        elif not got:
            print('FAIL %s: it differs no longer; its entry has to leave differences.toml' % name)
        else:
            print('FAIL %s: it differs in another way than differences.toml says:\n%s' % (name, indent(got)))
    gone = set(listed) - set(seen) if not options.case else set()
    for name in sorted(gone):
        print('FAIL %s: differences.toml has it, and no case is called so' % name)
    without_reason = [name for name, entry in listed.items() if not entry.get('why')]
    for name in without_reason:
        print('FAIL %s: its entry says no reason' % name)
    wrong += len(gone) + len(without_reason)
    as_listed = sum(name in listed for name in seen)
    print('probes: %d cases, %d of them listed as different, %d wrong; left out: the cases that need ordinary queues'
          % (len(seen), as_listed, wrong), flush=True)
    return wrong


def indent(text):
    return '\n'.join('    ' + line for line in text.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('binary')
    parser.add_argument('--tools', required=True)
    parser.add_argument('--only', choices=('probes', 'clients'))
    parser.add_argument('--case', action='append', default=[], help='only these (shell patterns)')
    parser.add_argument('--client', action='append', default=[], help='only these')
    parser.add_argument('--jobs', type=int, default=6, help='cases at once; most of their time is waiting')
    parser.add_argument('--probes', default=os.path.join(HERE, 'probes'), help='other probes than those here')
    options = parser.parse_args()
    options.tools, binary = os.path.abspath(options.tools), os.path.abspath(options.binary)
    wrong, began = 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix='kelda-amqp-') as work, Node(binary, os.path.join(work, 'node')) as node:
        if options.only != 'clients':
            wrong += run_probes(options, node, work)
        if options.only != 'probes' and not options.case:
            failed, count = asyncio.run(clients.run_all(node, options.tools, options.client))
            print('clients: %d of %d passed' % (count - failed, count))
            wrong += failed
        if not node.alive():
            print('FAIL: the node has ended')
            wrong += 1
        if wrong:
            with open(node.log.name) as log:
                print('the last lines of the node:\n%s' % indent(''.join(log.readlines()[-20:])))
    print('amqp: %s in %.0f s' % ('%d wrong' % wrong if wrong else 'all as it has to be', time.monotonic() - began))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
