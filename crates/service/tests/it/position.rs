//! Start and end positions made concrete.

use kelda_format::{Offset, Timestamp};
use kelda_service::{End, EndAt, Fact, Fault, ReadError, StartAt};

use crate::bench::{anybody, name, plain, run, seconds};

#[test]
fn every_start_becomes_an_offset() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        for start in
            [StartAt::First, StartAt::Last, StartAt::Next, StartAt::Tail(5), StartAt::Ago { ms: 1000 }]
        {
            assert_eq!(node.start_at("a", start).await.unwrap(), Offset(0), "{start:?} of an empty stream");
        }
        let mut times = Vec::new();
        for text in ["zero", "one", "two", "three"] {
            times.push(node.append("a", plain(text)).await.unwrap().timestamp.unwrap());
            bench.sleep(seconds(10)).await;
        }
        let cases = [
            (StartAt::First, 0),
            (StartAt::Last, 3),
            (StartAt::Next, 4),
            (StartAt::Offset(Offset(2)), 2),
            (StartAt::Offset(Offset(4)), 4),
            (StartAt::Tail(0), 4),
            (StartAt::Tail(3), 1),
            (StartAt::Tail(u64::MAX), 0),
            (StartAt::Time(Timestamp(0)), 0),
            (StartAt::Time(times[1]), 1),
            (StartAt::Time(times[1].plus_ms(1)), 2),
            (StartAt::Time(times[3].plus_ms(1)), 4),
            (StartAt::Ago { ms: 25_000 }, 2),
            (StartAt::Ago { ms: 0 }, 4),
            (StartAt::Ago { ms: u64::MAX }, 0),
        ];
        for (start, offset) in cases {
            assert_eq!(node.start_at("a", start).await.unwrap(), Offset(offset), "{start:?}");
        }
        node.service.trim(&anybody(), &name("a"), Offset(2), None).await.unwrap();
        let cases = [
            (StartAt::First, 2),
            (StartAt::Tail(3), 2),
            (StartAt::Time(Timestamp(0)), 2),
            (StartAt::Ago { ms: u64::MAX }, 2),
        ];
        for (start, offset) in cases {
            assert_eq!(node.start_at("a", start).await.unwrap(), Offset(offset), "{start:?} after trim");
        }
    });
}

#[test]
fn an_offset_that_is_not_there_says_what_is() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        for text in ["zero", "one"] {
            node.append("a", plain(text)).await.unwrap();
        }
        node.service.trim(&anybody(), &name("a"), Offset(1), None).await.unwrap();
        let found = node.start_at("a", StartAt::Offset(Offset(0))).await.unwrap_err();
        assert_eq!(found, ReadError::Trimmed { start: Offset(1) });
        assert_eq!((found.code(), found.problem().status()), ("offset-gone", 410));
        assert_eq!(found.fields(), [("start_offset", Fact::Offset(Offset(1)))]);
        for ahead in [3, u64::MAX] {
            let found = node.start_at("a", StartAt::Offset(Offset(ahead))).await.unwrap_err();
            assert_eq!(found, ReadError::PastTail { tail: Offset(2) });
            assert_eq!(found.fields(), [("next_offset", Fact::Offset(Offset(2)))]);
        }
        assert_eq!(node.start_at("b", StartAt::First).await.unwrap_err().code(), "not-found");
    });
}

#[test]
fn an_end_in_the_past_is_fixed_and_one_in_the_future_is_not() {
    run(|bench| async move {
        let node = bench.start().await;
        let stream = node.created("a").await.stream;
        let first = node.append("a", plain("zero")).await.unwrap().timestamp.unwrap();
        bench.sleep(seconds(10)).await;
        node.append("a", plain("one")).await.unwrap();
        let end = |at| node.service.resolve_end(stream, at);
        let fixed = |offset| End { offset: Offset(offset), fixed: true };
        assert_eq!(end(EndAt::Offset(Offset(7))).await.unwrap(), fixed(7));
        assert_eq!(end(EndAt::Time(first)).await.unwrap(), fixed(0));
        assert_eq!(end(EndAt::Time(first.plus_ms(1))).await.unwrap(), fixed(1));
        let ahead = end(EndAt::Time(first.plus_ms(1_000_000))).await.unwrap();
        assert_eq!(ahead, End { offset: Offset(2), fixed: false });
    });
}
