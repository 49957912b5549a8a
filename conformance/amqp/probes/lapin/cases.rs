//! lapin cases; run by probe.py: PROBE_CASE, PROBE_URL, PROBE_NAMES. Prints one line of JSON.
use futures_util::StreamExt;
use lapin::{
    options::*,
    types::{AMQPValue, FieldTable},
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer, ExchangeKind, Result,
};
use serde_json::{json, Value};
use std::time::Duration;

fn name(n: &str) -> String {
    let names: Value = serde_json::from_str(&std::env::var("PROBE_NAMES").unwrap()).unwrap();
    names[n].as_str().unwrap().to_string()
}

fn table(kv: &[(&str, AMQPValue)]) -> FieldTable {
    let mut t = FieldTable::default();
    for (k, v) in kv {
        t.insert((*k).into(), v.clone());
    }
    t
}

fn s(v: &str) -> AMQPValue {
    AMQPValue::LongString(v.into())
}

async fn connect() -> Result<Connection> {
    Connection::connect(&std::env::var("PROBE_URL").unwrap(), ConnectionProperties::default()).await
}

async fn stream(ch: &Channel, q: &str, extra: &[(&str, AMQPValue)]) -> Result<()> {
    let mut kv = vec![("x-queue-type", s("stream"))];
    kv.extend_from_slice(extra);
    let o = QueueDeclareOptions { durable: true, ..Default::default() };
    ch.queue_declare(q.into(), o, table(&kv)).await.map(|_| ())
}

async fn publish(ch: &Channel, x: &str, k: &str, body: &[u8], mandatory: bool) -> Result<Confirmation> {
    let o = BasicPublishOptions { mandatory, ..Default::default() };
    ch.basic_publish(x.into(), k.into(), o, body, BasicProperties::default().with_delivery_mode(2)).await?.await
}

async fn consume(ch: &Channel, q: &str, offset: AMQPValue) -> Result<Consumer> {
    let t = table(&[("x-stream-offset", offset)]);
    ch.basic_consume(q.into(), "".into(), BasicConsumeOptions::default(), t).await
}

async fn take(c: &mut Consumer, n: usize) -> Value {
    let mut r = vec![];
    while r.len() < n {
        match tokio::time::timeout(Duration::from_secs(3), c.next()).await {
            Ok(Some(Ok(d))) => {
                let off = d.properties.headers().as_ref().and_then(|h| h.inner().get("x-stream-offset").cloned());
                r.push(json!([format!("{:?}", off.unwrap_or(AMQPValue::Void)), String::from_utf8_lossy(&d.data)]));
                let _ = d.ack(BasicAckOptions::default()).await;
            }
            Ok(Some(Err(e))) => {
                r.push(json!(format!("{e}")));
                break;
            }
            _ => break,
        }
    }
    json!(r)
}

fn err<T>(r: Result<T>) -> Value {
    match r {
        Ok(_) => json!("no error"),
        Err(e) => json!(format!("{e}")),
    }
}

async fn run(case: &str) -> Result<Value> {
    if case == "wrong_password" {
        let u = std::env::var("PROBE_URL").unwrap().replace(":guest@", ":wrong@");
        return Ok(err(Connection::connect(&u, ConnectionProperties::default()).await));
    }
    let conn = connect().await?;
    let ch = conn.create_channel().await?;
    Ok(match case {
        "publish_consume" => {
            let q = name("s");
            stream(&ch, &q, &[("x-max-age", s("1h")), ("x-max-length-bytes", AMQPValue::LongLongInt(1_000_000_000))]).await?;
            ch.confirm_select(ConfirmSelectOptions::default()).await?;
            let mut acks = 0;
            for i in 0..5 {
                if publish(&ch, "", &q, format!("m{i}").as_bytes(), false).await?.is_ack() {
                    acks += 1;
                }
            }
            ch.basic_qos(10, BasicQosOptions::default()).await?;
            let mut a = consume(&ch, &q, s("first")).await?;
            let first = take(&mut a, 5).await;
            let b = conn.create_channel().await?;
            b.basic_qos(10, BasicQosOptions::default()).await?;
            let mut c = consume(&b, &q, AMQPValue::LongLongInt(3)).await?;
            json!([acks, first, take(&mut c, 2).await])
        }
        "consume_without_prefetch" => {
            let q = name("s");
            stream(&ch, &q, &[]).await?;
            json!([err(consume(&ch, &q, s("first")).await), ch.status().connected(), conn.status().connected()])
        }
        "redeclare_inequivalent" => {
            let q = name("s");
            stream(&ch, &q, &[("x-max-age", s("1h"))]).await?;
            json!([err(stream(&ch, &q, &[("x-max-age", s("3600s"))]).await), conn.status().connected()])
        }
        "mandatory_return" => {
            ch.confirm_select(ConfirmSelectOptions::default()).await?;
            let c = publish(&ch, "", &name("none"), b"x", true).await?;
            match c {
                Confirmation::Ack(Some(m)) => json!(["ack with return", m.reply_code, m.reply_text.to_string(), String::from_utf8_lossy(&m.data)]),
                o => json!(format!("{o:?}")),
            }
        }
        "nack_on_stream" => {
            let q = name("s");
            stream(&ch, &q, &[]).await?;
            publish(&ch, "", &q, b"x", false).await?;
            ch.basic_qos(1, BasicQosOptions::default()).await?;
            let mut c = consume(&ch, &q, s("first")).await?;
            let d = c.next().await.unwrap()?;
            let _ = d.nack(BasicNackOptions::default()).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            json!([conn.status().connected()])
        }
        "exchange_and_dlq" => {
            let (q, x, d) = (name("s"), name("x"), name("s.dlq"));
            stream(&ch, &q, &[]).await?;
            ch.exchange_declare(x.as_str().into(), ExchangeKind::Topic, ExchangeDeclareOptions { durable: true, ..Default::default() }, FieldTable::default()).await?;
            ch.queue_bind(q.as_str().into(), x.as_str().into(), "log.*".into(), QueueBindOptions::default(), FieldTable::default()).await?;
            ch.queue_declare(d.as_str().into(), QueueDeclareOptions { durable: true, ..Default::default() }, FieldTable::default()).await?;
            ch.confirm_select(ConfirmSelectOptions::default()).await?;
            publish(&ch, &x, "log.info", b"hello", false).await?;
            publish(&ch, "", &d, b"bad1", false).await?;
            publish(&ch, "", &d, b"bad2", false).await?;
            let mut r = vec![];
            for i in 0..2 {
                let m = ch.basic_get(d.as_str().into(), BasicGetOptions::default()).await?.unwrap();
                r.push(json!([String::from_utf8_lossy(&m.delivery.data), m.delivery.redelivered, m.message_count]));
                if i == 0 {
                    m.delivery.nack(BasicNackOptions { requeue: true, ..Default::default() }).await?;
                } else {
                    m.delivery.ack(BasicAckOptions::default()).await?;
                }
            }
            r.push(json!(ch.queue_purge(d.as_str().into(), QueuePurgeOptions::default()).await?));
            r.push(json!(ch.basic_get(d.as_str().into(), BasicGetOptions::default()).await?.is_none()));
            r.push(json!(ch.queue_delete(d.as_str().into(), QueueDeleteOptions::default()).await?));
            ch.basic_qos(5, BasicQosOptions::default()).await?;
            let mut c = consume(&ch, &q, s("first")).await?;
            r.push(take(&mut c, 1).await);
            ch.exchange_delete(x.as_str().into(), ExchangeDeleteOptions::default()).await?;
            json!(r)
        }
        _ => json!("unknown case"),
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    match run(&std::env::var("PROBE_CASE").unwrap()).await {
        Ok(v) => {
            println!("{v}");
            std::process::exit(0);
        }
        Err(e) => {
            eprintln!("{e:?}");
            std::process::exit(1);
        }
    }
}
