"""The scenario of clients.py with pika. Arguments: URL, URL through the proxy, port that cuts the proxy, stream."""
import datetime
import json
import socket
import sys
import time

import pika

direct, proxied, cutter, stream = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]


def connect(url=direct):
    return pika.BlockingConnection(pika.URLParameters(url))


def consume(connection, offset, take, prefetch=20):
    """Gives every message as (offset, body) to `take` until that says False; acknowledges each."""
    channel = connection.channel()
    channel.basic_qos(prefetch_count=prefetch)

    def handle(channel, method, properties, body):
        more = take([properties.headers['x-stream-offset'], body.decode()])
        channel.basic_ack(method.delivery_tag)
        if not more:
            channel.stop_consuming()

    channel.basic_consume(stream, handle, arguments={'x-stream-offset': offset})
    return channel


def read(offset, count, before=lambda: None):
    """The first messages from there; `before` runs when the consumer is there."""
    connection, got = connect(), []
    channel = consume(connection, offset, lambda message: got.append(message) or len(got) < count)
    before()
    channel.start_consuming()
    connection.close()
    return got


def cut():
    with socket.create_connection(('127.0.0.1', cutter)) as control:
        control.recv(1)


publisher = connect()
out = publisher.channel()
out.queue_declare(stream, durable=True, arguments={'x-queue-type': 'stream'})
out.confirm_delivery()      # from here on each publish waits for its confirm, and a nack raises
sent = 0


def publish(count=1):
    global sent
    for _ in range(count):
        out.basic_publish('', stream, b'm%d' % sent, pika.BasicProperties(delivery_mode=2), mandatory=True)
        sent += 1


result = {}
publish(100)
second = int(time.time()) + 1
time.sleep(second + 0.1 - time.time())
publish(100)
result['first'] = read('first', 200)
result['offset'] = read(150, 50)
result['timestamp'] = read(datetime.datetime.fromtimestamp(second, datetime.timezone.utc), 100)
result['interval'] = read('1h', 200)
result['last'] = read('last', 1)
result['next'] = read('next', 1, publish)
time.sleep(1.2)
result['interval_of_now'] = read('1s', 1, publish)

seen, cuts = [], [60, 120]


def handle(message):
    seen.append(message)
    if cuts and len(seen) == cuts[0]:
        cuts.pop(0)
        cut()
    return len(seen) < sent


lost = 0
while len(seen) < sent:
    connection = connect(proxied)
    try:
        consume(connection, seen[-1][0] + 1 if seen else 'first', handle).start_consuming()
        connection.close()
    except (pika.exceptions.AMQPConnectionError, pika.exceptions.ChannelWrongStateError, pika.exceptions.StreamLostError):
        lost += 1
result['resumed'], result['lost'] = seen, lost
publisher.close()
print(json.dumps(result))
