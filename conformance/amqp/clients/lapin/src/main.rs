//! The scenario of clients.py with lapin. Arguments: URL, URL through the proxy, port that cuts the proxy, stream.

use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
    QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);

type Failure = Box<dyn std::error::Error>;

struct Scenario {
    direct: String,
    proxied: String,
    cutter: u16,
    stream: String,
}

impl Scenario {
    async fn consume(&self, url: &str, offset: AMQPValue) -> Result<(Connection, Consumer), Failure> {
        let connection = Connection::connect(url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.basic_qos(20, BasicQosOptions::default()).await?;
        let mut arguments = FieldTable::default();
        arguments.insert("x-stream-offset".into(), offset);
        let options = BasicConsumeOptions::default();
        let consumer = channel.basic_consume(self.stream.as_str().into(), "".into(), options, arguments).await?;
        Ok((connection, consumer))
    }

    /// The first messages from there.
    async fn read(&self, offset: AMQPValue, count: usize) -> Result<Value, Failure> {
        let (connection, mut consumer) = self.consume(&self.direct, offset).await?;
        let got = take(&mut consumer, count).await?;
        connection.close(200, "".into()).await?;
        Ok(got)
    }

    /// The first message for a consumer that is there before one is published.
    async fn read_new(&self, offset: &str, out: &Channel, number: usize) -> Result<Value, Failure> {
        let (connection, mut consumer) = self.consume(&self.direct, text(offset)).await?;
        self.publish(out, number..number + 1).await?;
        let got = take(&mut consumer, 1).await?;
        connection.close(200, "".into()).await?;
        Ok(got)
    }

    async fn publish(&self, out: &Channel, numbers: std::ops::Range<usize>) -> Result<(), Failure> {
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        let mut confirms = Vec::new();
        for number in numbers {
            let properties = BasicProperties::default().with_delivery_mode(2);
            let body = format!("m{number}");
            let queue = self.stream.as_str();
            confirms.push(out.basic_publish("".into(), queue.into(), options, body.as_bytes(), properties).await?);
        }
        for confirm in confirms {
            match confirm.await? {
                Confirmation::Ack(None) => {}
                other => return Err(format!("not confirmed: {other:?}").into()),
            }
        }
        Ok(())
    }

    /// All messages in spite of two cuts, each time from the one after the newest that was handled.
    async fn resume(&self, sent: usize) -> Result<(Vec<Value>, usize), Failure> {
        let (mut seen, mut lost): (Vec<Value>, usize) = (Vec::new(), 0);
        while seen.len() < sent {
            let offset = match seen.last().and_then(|message| message[0].as_i64()) {
                Some(newest) => AMQPValue::LongLongInt(newest + 1),
                None => text("first"),
            };
            let (connection, mut consumer) = self.consume(&self.proxied, offset).await?;
            loop {
                if seen.len() == sent {
                    connection.close(200, "".into()).await?;
                    break;
                }
                let Ok(Some(Ok(delivery))) = soon("a delivery", consumer.next()).await else {
                    lost += 1;
                    break;
                };
                seen.push(plain(&delivery)?);
                if [60, 120].contains(&seen.len()) {
                    let mut control = std::net::TcpStream::connect(("127.0.0.1", self.cutter))?;
                    let _ = control.read(&mut [0]);
                }
                // Without a connection this fails, and so does what comes next.
                let _ = soon("an acknowledgement", delivery.ack(BasicAckOptions::default())).await;
            }
        }
        Ok((seen, lost))
    }
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

fn plain(delivery: &lapin::message::Delivery) -> Result<Value, Failure> {
    let headers = delivery.properties.headers().as_ref().ok_or("no headers")?;
    match headers.inner().get("x-stream-offset") {
        Some(AMQPValue::LongLongInt(offset)) => Ok(json!([offset, String::from_utf8_lossy(&delivery.data)])),
        other => Err(format!("x-stream-offset is {other:?}").into()),
    }
}

async fn take(consumer: &mut Consumer, count: usize) -> Result<Value, Failure> {
    let mut got = Vec::new();
    while got.len() < count {
        let step = format!("message {} of {count}", got.len() + 1);
        let delivery = soon(&step, consumer.next()).await?.ok_or("the consumer ended")??;
        got.push(plain(&delivery)?);
        delivery.ack(BasicAckOptions::default()).await?;
    }
    Ok(Value::Array(got))
}

/// What is waited for, unless it takes so long that it will not come: of a connection that is cut lapin now and then tells
/// nothing to who waits.
async fn soon<T>(what: &str, wait: impl std::future::Future<Output = T>) -> Result<T, Failure> {
    tokio::time::timeout(SOON, wait).await.map_err(|_| format!("{what} did not come within {SOON:?}").into())
}

fn now() -> Result<Duration, Failure> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [direct, proxied, cutter, stream] = arguments.try_into().map_err(|_| "four arguments are needed")?;
    let scenario = Scenario { direct, proxied, cutter: cutter.parse()?, stream };
    let connection = Connection::connect(&scenario.direct, ConnectionProperties::default()).await?;
    let out = connection.create_channel().await?;
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), text("stream"));
    let options = QueueDeclareOptions { durable: true, ..Default::default() };
    out.queue_declare(scenario.stream.as_str().into(), options, arguments).await?;
    out.confirm_select(ConfirmSelectOptions::default()).await?;
    scenario.publish(&out, 0..100).await?;
    let second = now()?.as_secs() + 1;
    tokio::time::sleep(Duration::from_millis(second * 1000 + 100).saturating_sub(now()?)).await;
    scenario.publish(&out, 100..200).await?;
    let mut result = json!({
        "first": scenario.read(text("first"), 200).await?,
        "offset": scenario.read(AMQPValue::LongLongInt(150), 50).await?,
        "timestamp": scenario.read(AMQPValue::Timestamp(second), 100).await?,
        "interval": scenario.read(text("1h"), 200).await?,
        "last": scenario.read(text("last"), 1).await?,
        "next": scenario.read_new("next", &out, 200).await?,
    });
    tokio::time::sleep(Duration::from_millis(1200)).await;
    result["interval_of_now"] = scenario.read_new("1s", &out, 201).await?;
    let (resumed, lost) = scenario.resume(202).await?;
    result["resumed"] = Value::Array(resumed);
    result["lost"] = lost.into();
    connection.close(200, "".into()).await?;
    println!("{result}");
    Ok(())
}
