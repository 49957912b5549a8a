//! What a name may be, and who may use it.

use kelda_format::{NameError, StreamName};
use kelda_service::{Caller, CreateError, CreateRequest, Fault, Problem};

use crate::bench::{name, run};

#[test]
fn names_that_cannot_be_are_refused() {
    let long = "n".repeat(1025);
    for text in [
        "", "/", "a//b", "/a", "a/", ".", "..", "a/../b", "a/./b", "a\nb", "a\u{7f}", "a\u{0}", "\u{85}",
        &long,
    ] {
        let error: NameError = StreamName::parse(text).unwrap_err();
        assert_eq!(error.problem(), Problem::InvalidName, "{text:?}");
    }
    for text in ["a", "logs/api/prod", "...", "a b", "ä/ß", "-", "a__b", &"n".repeat(1024)] {
        assert!(StreamName::parse(text).is_ok(), "{text:?}");
    }
}

#[test]
fn reserved_names_are_for_front_ends() {
    run(|bench| async move {
        let node = bench.start().await;
        for text in ["__ds", "__vhost/a/b", "__"] {
            let found = node.create(CreateRequest::new(name(text))).await.unwrap_err();
            assert!(matches!(found, CreateError::Reserved { .. }), "{text}");
            assert_eq!(found.code(), "reserved-name");
        }
        let request = CreateRequest::new(name("__vhost/a/b"));
        assert!(node.service.create(&Caller::front_end(), request).await.unwrap().new);
        assert!(node.head("__vhost/a/b").is_some(), "what is there can be used by all");
        assert!(node.create(CreateRequest::new(name("_ok/__ok"))).await.unwrap().new);
    });
}
