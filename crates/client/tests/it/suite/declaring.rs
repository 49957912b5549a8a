//! Limits, as they are said and compared.

use kelda_client::{Diagnostic, Error, RangeReader, StreamLimits, days, hours};

use super::World;

pub async fn a_declaration_may_be_repeated_and_a_contradiction_shows_both(world: World) {
    let limits = || StreamLimits::new().max_age(days(7)).max_bytes(10_000_000_000).segment_bytes(500_000_000);
    assert!(world.kelda.declare_stream(&world.stream, limits()).await.unwrap().created);
    assert!(!world.kelda.declare_stream(&world.stream, limits()).await.unwrap().created);
    let error = world.kelda.declare_stream(&world.stream, limits().max_age(hours(1))).await.unwrap_err();
    let Error::Mismatch(mismatch) = &error else { panic!("{error}") };
    assert_eq!(mismatch.stream, world.stream);
    let difference = &mismatch.differences[0];
    assert_eq!((difference.field.as_str(), difference.requested.as_deref()), ("max_age", Some("1h")));
    // HTTP writes days in lower case.
    assert_eq!(difference.existing.as_deref().map(str::to_uppercase).as_deref(), Some("7D"));
    let error = world.kelda.declare_stream(&world.stream, limits().max_bytes(5)).await.unwrap_err();
    assert!(error.to_string().contains("max_bytes is 10000000000, asked for was 5"), "{error}");
}

/// A stream that was declared long ago in another spelling is declared by exactly that.
pub async fn an_age_is_spelled_canonically_or_exactly_as_given(world: World) {
    let old = StreamLimits::new().max_age_raw("3600s");
    world.kelda.declare_stream(&world.stream, old.clone()).await.unwrap();
    world.kelda.declare_stream(&world.stream, old).await.unwrap();
    let canonical = world.kelda.declare_stream(&world.stream, StreamLimits::new().max_age(hours(1))).await;
    if world.over.is_amqp() {
        let error = canonical.unwrap_err();
        assert!(error.to_string().contains("max_age is 3600s, asked for was 1h"), "{error}");
    } else {
        canonical.unwrap();
    }
    let odd = StreamLimits::new().max_age(std::time::Duration::from_millis(1_500));
    let error = world.kelda.declare_stream(&world.stream, odd).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { what: "max_age", .. }), "{error}");
}

pub async fn no_limit_works_and_is_said_once(world: World) {
    let mut diagnostics = world.kelda.diagnostics();
    for _ in 0..3 {
        world.kelda.declare_stream(&world.stream, StreamLimits::new()).await.unwrap();
    }
    let said = Diagnostic::Unlimited { stream: world.stream.clone() };
    assert_eq!(diagnostics.try_next(), Some(said));
    assert_eq!(diagnostics.try_next(), None);
}

/// What a transport cannot do is an error of its own, and nothing is sent.
pub async fn what_amqp_cannot_do_is_said(world: World) {
    world.filled(1).await;
    let (kelda, stream) = (&world.kelda, world.stream.as_str());
    let read = kelda_client::ReadOptions {
        start: kelda_client::StartAt::Offset(0),
        until: None,
        count: None,
        follow: false,
        patience: std::time::Duration::ZERO,
    };
    let errors = [
        kelda.head(stream).await.map(drop),
        kelda.list("", None).await.map(drop),
        kelda.trim(stream, 1, None).await.map(drop),
        kelda.set(stream, &kelda_client::Limits::default()).await.map(drop),
        kelda.seal(stream).await.map(drop),
        RangeReader::new(kelda, stream, read).next().await.map(drop),
        kelda.declare_stream("typed", StreamLimits::new().content_type("text/plain")).await.map(drop),
    ];
    for (index, outcome) in errors.into_iter().enumerate() {
        let said = matches!(&outcome, Err(Error::Unsupported { transport: "AMQP", .. }));
        assert_eq!(said, world.over.is_amqp(), "{index}: {outcome:?}");
    }
}
