// The scenario of clients.py with amqp-connection-manager, which connects again by itself and runs the set-up of each
// channel anew. Arguments: URL, URL through the proxy, port that cuts the proxy, stream.
const amqp = require('amqp-connection-manager');
const net = require('node:net');
const [direct, proxied, cutter, stream] = process.argv.slice(2);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const plain = (message) => [message.properties.headers['x-stream-offset'], message.content.toString()];
const cut = () => net.connect(Number(cutter), '127.0.0.1').resume();

// Hands over every message until `take` says false, through as many connections as it takes; gives how many were lost.
async function consume(url, offset, take, before) {
  const connection = amqp.connect([url], { reconnectTimeInSeconds: 0.2 });
  let lost = 0;
  connection.on('disconnect', () => { lost += 1; });
  let finish;
  const over = new Promise((done) => { finish = done; });
  let open = true;
  const setup = async (channel) => {
    await channel.prefetch(20);
    const handle = (message) => {
      if (!open) return;
      open = take(plain(message));
      try { channel.ack(message); } catch { /* the connection is gone, the next set-up goes on */ }
      if (!open) finish();
    };
    await channel.consume(stream, handle, { arguments: { 'x-stream-offset': offset() } });
  };
  const wrapper = connection.createChannel({ setup });
  wrapper.on('error', () => {});
  await wrapper.waitForConnect();
  if (before) await before();
  await over;
  await connection.close();
  return lost;
}

async function read(offset, count, before) {
  const got = [];
  await consume(direct, () => offset, (message) => got.push(message) < count, before);
  return got;
}

async function resume(sent) {
  const seen = [];
  const cuts = [60, 120];
  const take = (message) => {
    seen.push(message);
    if (seen.length === cuts[0]) { cuts.shift(); cut(); }
    return seen.length < sent;
  };
  const lost = await consume(proxied, () => (seen.length ? seen.at(-1)[0] + 1 : 'first'), take);
  return { resumed: seen, lost };
}

async function main() {
  const publisher = amqp.connect([direct]);
  const declare = (channel) => channel.assertQueue(stream, { durable: true, arguments: { 'x-queue-type': 'stream' } });
  const wrapper = publisher.createChannel({ setup: declare });
  let sent = 0;
  const publish = async (count = 1) => {
    const confirms = [];
    for (let i = 0; i < count; i += 1, sent += 1) {
      confirms.push(wrapper.sendToQueue(stream, Buffer.from(`m${sent}`), { persistent: true, mandatory: true }));
    }
    await Promise.all(confirms);
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
