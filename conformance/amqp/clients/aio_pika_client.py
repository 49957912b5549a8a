"""The scenario of clients.py with aio-pika. Arguments: URL, URL through the proxy, port that cuts the proxy, stream."""
import asyncio
import datetime
import json
import sys
import time

import aio_pika

direct, proxied, cutter, stream = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]


async def consume(connection, offset, prefetch=20):
    """A queue of what comes; a None in it says that the connection is gone."""
    channel, got = await connection.channel(), asyncio.Queue()
    await channel.set_qos(prefetch_count=prefetch)
    queue = await channel.get_queue(stream)
    connection.close_callbacks.add(lambda *_: got.put_nowait(None))
    await queue.consume(got.put, arguments={'x-stream-offset': offset})
    return got


def plain(message):
    return [message.headers['x-stream-offset'], message.body.decode()]


async def read(offset, count, before=None):
    """The first messages from there; `before` runs when the consumer is there."""
    async with await aio_pika.connect(direct) as connection:
        got, messages = await consume(connection, offset), []
        if before:
            await before()
        while len(messages) < count:
            message = await got.get()
            messages.append(plain(message))
            await message.ack()
        return messages


async def cut():
    reader, writer = await asyncio.open_connection('127.0.0.1', cutter)
    await reader.read(1)
    writer.close()


async def resume(sent):
    """All messages in spite of two cuts, each time from the one after the newest that was handled."""
    seen, lost, cuts = [], 0, [60, 120]
    while len(seen) < sent:
        connection = await aio_pika.connect(proxied)
        got = await consume(connection, seen[-1][0] + 1 if seen else 'first')
        while len(seen) < sent:
            message = await got.get()
            if message is None:
                lost += 1
                break
            seen.append(plain(message))
            if cuts and len(seen) == cuts[0]:
                cuts.pop(0)
                await cut()
            try:
                await message.ack()
            except Exception:       # the connection is gone: the queue says so
                pass
        else:
            await connection.close()
    return seen, lost


async def main():
    result, sent = {}, 0
    async with await aio_pika.connect(direct) as publisher:
        channel = await publisher.channel(on_return_raises=True)    # with confirms, as always with aio-pika
        await channel.declare_queue(stream, durable=True, arguments={'x-queue-type': 'stream'})

        async def publish(count=1):
            nonlocal sent
            messages = [aio_pika.Message(b'm%d' % i, delivery_mode=2) for i in range(sent, sent + count)]
            sent += count
            await asyncio.gather(*(channel.default_exchange.publish(message, stream) for message in messages))

        await publish(100)
        second = int(time.time()) + 1
        await asyncio.sleep(second + 0.1 - time.time())
        await publish(100)
        result['first'] = await read('first', 200)
        result['offset'] = await read(150, 50)
        result['timestamp'] = await read(datetime.datetime.fromtimestamp(second, datetime.timezone.utc), 100)
        result['interval'] = await read('1h', 200)
        result['last'] = await read('last', 1)
        result['next'] = await read('next', 1, publish)
        await asyncio.sleep(1.2)
        result['interval_of_now'] = await read('1s', 1, publish)
        result['resumed'], result['lost'] = await resume(sent)
    print(json.dumps(result))


asyncio.run(main())
