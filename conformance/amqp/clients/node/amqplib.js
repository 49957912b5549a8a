// The scenario of clients.py with amqplib. Arguments: URL, URL through the proxy, port that cuts the proxy, stream.
const amqp = require('amqplib');
const net = require('node:net');
const [direct, proxied, cutter, stream] = process.argv.slice(2);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const plain = (message) => [message.properties.headers['x-stream-offset'], message.content.toString()];
const cut = () => net.connect(Number(cutter), '127.0.0.1').resume();

// Hands over every message until `take` says false or the connection is gone; gives whether all was taken.
async function consume(url, offset, take, before) {
  const connection = await amqp.connect(url);
  const over = new Promise((done) => {
    connection.on('error', () => {});
    connection.on('close', () => done(false));
    connection.finish = () => done(true);
  });
  const channel = await connection.createChannel();
  channel.on('error', () => {});
  await channel.prefetch(20);
  let open = true;
  const handle = (message) => {
    if (!open) return;
    open = take(plain(message));
    try { channel.ack(message); } catch { /* the connection is gone: `close` says so */ }
    if (!open) connection.finish();
  };
  await channel.consume(stream, handle, { arguments: { 'x-stream-offset': offset } });
  if (before) await before();
  const all = await over;
  open = false;
  if (all) await connection.close();
  return all;
}

async function read(offset, count, before) {
  const got = [];
  await consume(direct, offset, (message) => got.push(message) < count, before);
  return got;
}

async function resume(sent) {
  const seen = [];
  const cuts = [60, 120];
  let lost = 0;
  const take = (message) => {
    seen.push(message);
    if (seen.length === cuts[0]) { cuts.shift(); cut(); }
    return seen.length < sent;
  };
  while (seen.length < sent) {
    if (!(await consume(proxied, seen.length ? seen.at(-1)[0] + 1 : 'first', take))) lost += 1;
  }
  return { resumed: seen, lost };
}

async function main() {
  const publisher = await amqp.connect(direct);
  const channel = await publisher.createConfirmChannel();
  await channel.assertQueue(stream, { durable: true, arguments: { 'x-queue-type': 'stream' } });
  let sent = 0;
  const publish = async (count = 1) => {
    for (let i = 0; i < count; i += 1, sent += 1) {
      channel.sendToQueue(stream, Buffer.from(`m${sent}`), { persistent: true, mandatory: true });
    }
    await channel.waitForConfirms();
  };
  await publish(100);
  const second = Math.floor(Date.now() / 1000) + 1;
  await sleep(second * 1000 + 100 - Date.now());
  await publish(100);
  const result = {
    first: await read('first', 200),
    offset: await read(150, 50),
    timestamp: await read({ '!': 'timestamp', value: second }, 100),
    interval: await read('1h', 200),
    last: await read('last', 1),
    next: await read('next', 1, publish),
  };
  await sleep(1200);
  result.interval_of_now = await read('1s', 1, publish);
  Object.assign(result, await resume(sent));
  await publisher.close();
  console.log(JSON.stringify(result));
}

main().catch((error) => { console.error(error); process.exit(1); });
