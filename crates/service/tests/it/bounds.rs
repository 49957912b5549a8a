//! Nothing grows with requests for names that do not exist, nor with streams that are gone.

use kelda_format::{Offset, StreamId};
use kelda_meta::Meta;
use kelda_service::{AppendRequest, CreateRequest, Expiry, Gauges, ListRequest, RetentionPatch, StartAt};

use crate::bench::{anybody, claim, name, plain, put, run, seconds};

const NOTHING: Gauges = Gauges { deadlines: 0, creations: 0, leftovers: 0 };

#[test]
fn requests_for_names_that_do_not_exist_leave_nothing_behind() {
    run(|bench| async move {
        let node = bench.start().await;
        let applied = node.meta.view().applied();
        for n in 0..200 {
            let text = format!("no/{n}");
            let stream = name(&text);
            assert!(
                node.append(&text, AppendRequest { producer: claim("p", 0, 0), ..plain("x") }).await.is_err()
            );
            assert!(node.head(&text).is_none());
            assert!(node.start_at(&text, StartAt::First).await.is_err());
            assert!(node.service.delete(&anybody(), &stream, None).await.is_err());
            assert!(node.service.trim(&anybody(), &stream, Offset(0), None).await.is_err());
            assert!(node.service.update(&anybody(), &stream, RetentionPatch::default(), None).await.is_err());
            node.service.wait(&stream, StreamId(n), Offset(0), seconds(1)).await;
            let bad = CreateRequest { seal: None, ..put(&text, "bad") };
            assert!(node.create(bad).await.is_err());
        }
        let list = ListRequest { prefix: "no/".to_owned(), ..ListRequest::default() };
        assert!(node.service.list(&anybody(), &list).unwrap().streams.is_empty());
        assert_eq!(node.service.gauges(), NOTHING);
        assert_eq!(node.meta.view().applied(), applied, "and nothing was proposed");
    });
}

#[test]
fn only_streams_with_an_expiry_are_followed_and_only_while_they_live() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("plain").await;
        node.append("plain", plain("x")).await.unwrap();
        assert_eq!(node.service.gauges(), NOTHING);
        for n in 0..10 {
            let mut request = put(&format!("s/{n}"), "text/plain");
            request.config.expiry = Some(Expiry::Sliding { ttl_ms: 1_000_000 });
            node.create(request).await.unwrap();
        }
        assert_eq!(node.service.gauges().deadlines, 10);
        for n in 0..10 {
            node.delete(&format!("s/{n}")).await;
        }
        assert_eq!(node.service.gauges(), NOTHING);
    });
}

#[test]
fn a_node_without_deadlines_does_nothing() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let before = node.meta.view().applied();
        bench.sleep(seconds(3600)).await;
        assert_eq!(node.meta.view().applied(), before);
    });
}
