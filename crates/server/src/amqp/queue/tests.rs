//! Arguments of queues and consumers.

#![allow(clippy::unwrap_used)]

use kelda_format::{Header, Value};
use kelda_service::StartAt;

use super::arguments::{Declared, check};
use crate::amqp::wire::Table;

const QUEUE: &str = "queue 'q' in vhost '/'";

fn declared(list: &[(&str, Value)]) -> Result<Declared, String> {
    let mut all = vec![Header::new("x-queue-type", Value::Text("stream".to_owned()))];
    all.extend(list.iter().map(|(name, value)| Header::new(*name, value.clone())));
    check(&Table(all), QUEUE).map_err(|refusal| refusal.text)
}

#[test]
fn arguments_are_kept_as_given_and_mean_a_retention() {
    let text = |text: &str| Value::Text(text.to_owned());
    let given = declared(&[
        ("x-max-age", text("60m")),
        ("x-max-length-bytes", Value::I16(100)),
        ("x-foo", Value::Void),
    ]);
    let given = given.unwrap();
    let retention = (given.retention.max_age_ms, given.retention.max_bytes, given.retention.segment_bytes);
    assert_eq!(retention, (Some(3_600_000), Some(100), None));
    let kept: Vec<_> = given.kept.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(kept, [("x-queue-type", "stream"), ("x-max-length-bytes", "100"), ("x-max-age", "60m")]);
    for (name, value, error) in [
        ("x-max-age", text("1x"), "'/': invalid_max_age"),
        ("x-max-age", text(""), "'/': invalid_max_age"),
        ("x-max-age", Value::I32(3_600), "{unacceptable_type,signedint}"),
        ("x-max-length-bytes", Value::I32(-1), "{value_negative,-1}"),
        ("x-max-length-bytes", text("1000"), "\"expected integer, got longstr\""),
        ("x-initial-cluster-size", Value::I32(0), "{value_zero,0}"),
        ("x-queue-leader-locator", text("here"), "invalid_queue_locator_arg"),
        ("x-message-ttl", Value::I32(1), "'/' of queue type rabbit_stream_queue"),
    ] {
        let refused = declared(&[(name, value)]).unwrap_err();
        assert!(
            refused.starts_with("PRECONDITION_FAILED - ") && refused.ends_with(error)
                || refused.contains(error)
        );
    }
}

#[test]
fn spans_have_one_number_and_one_unit() {
    use super::span::{format, parse};
    for (text, ms) in [
        ("1Y", 31_536_000_000),
        ("6M", 15_552_000_000),
        ("7D", 604_800_000),
        ("90m", 5_400_000),
        ("1s\n", 1_000),
    ] {
        assert_eq!(parse(text), Some(ms));
    }
    assert_eq!(parse(&format!("1{}Y", "0".repeat(30))), Some(u64::MAX));
    for wrong in ["", "h", "\n", "1s\n\n", "1\n", "10", "0s", "1.5h", "1 h", "1H", "1d", "1h30m", "-1h", "1ä"]
    {
        assert_eq!(parse(wrong), None, "{wrong}");
    }
    for (ms, text) in [(86_400_000, "1D"), (5_400_000, "90m"), (1_500, "2s"), (1, "1s")] {
        assert_eq!(format(ms), text);
    }
}

#[test]
fn a_consumer_starts_where_it_says() {
    let start = |value: Value| super::offset::parse(Some(&value), QUEUE).map_err(|refusal| refusal.text);
    let text = |text: &str| Value::Text(text.to_owned());
    let at = |offset| Ok(StartAt::Offset(kelda_format::Offset(offset)));
    assert_eq!(super::offset::parse(None, QUEUE), Ok(StartAt::Next));
    assert_eq!(start(text("last")), Ok(StartAt::Last));
    assert_eq!(start(Value::I8(3)), at(3));
    assert_eq!(start(Value::U32(3)), at(3));
    assert_eq!(start(Value::I64(-1)), Ok(StartAt::First));
    assert_eq!(start(Value::Timestamp(2)), Ok(StartAt::Time(kelda_format::Timestamp(2_000))));
    assert_eq!(start(text("10s")), Ok(StartAt::Ago { ms: 10_000 }));
    assert_eq!(
        start(text("1x")).unwrap_err(),
        "PRECONDITION_FAILED - invalid arg 'x-stream-offset' for queue 'q' in vhost '/': \
         {invalid_stream_offset_arg,{longstr,<<\"1x\">>}}"
    );
    assert!(start(Value::Bool(true)).is_err());
}
