//! Forks: what they hold, what they share, and what becomes of the name of their source.

use kelda_format::{Offset, StreamId};
use kelda_service::{CreateError, Fault as _, ForkError, LookupError, Problem};

use crate::bench::{Node, anybody, name, plain, put, run};

async fn fork(node: &Node, source: &str, offset: u64, to: &str) -> Result<StreamId, ForkError> {
    let made = node.service.fork(&anybody(), &name(source), Offset(offset), &name(to)).await?;
    Ok(made.info.stream)
}

async fn source(node: &Node) {
    node.create(put("source", "text/plain")).await.unwrap();
    for text in ["a", "b", "c", "d"] {
        node.append("source", plain(text)).await.unwrap();
    }
}

#[test]
fn a_fork_holds_what_its_source_held_and_goes_on_by_itself() {
    run(|bench| async move {
        let node = bench.start().await;
        source(&node).await;
        let made = node.service.fork(&anybody(), &name("source"), Offset(3), &name("fork")).await.unwrap();
        assert!(made.new);
        assert_eq!((made.info.next, made.info.content_type.as_str()), (Offset(3), "text/plain"));
        node.append("fork", plain("x")).await.unwrap();
        node.append("source", plain("e")).await.unwrap();
        assert_eq!(node.texts("fork").await, ["a", "b", "c", "x"]);
        assert_eq!(node.texts("source").await, ["a", "b", "c", "d", "e"]);
        let again = node.service.fork(&anybody(), &name("source"), Offset(3), &name("fork")).await.unwrap();
        assert!(!again.new && again.info.stream == made.info.stream, "a repeat finds it");
        let other = fork(&node, "source", 2, "fork").await.unwrap_err();
        assert_eq!(other, ForkError::Exists { name: name("fork") });
    });
}

#[test]
fn an_offset_that_is_not_held_is_refused() {
    run(|bench| async move {
        let node = bench.start().await;
        source(&node).await;
        let past = fork(&node, "source", 5, "fork").await.unwrap_err();
        assert_eq!(past, ForkError::PastTail { asked: Offset(5), tail: Offset(4) });
        node.service.trim(&anybody(), &name("source"), Offset(2), None).await.unwrap();
        let gone = fork(&node, "source", 1, "fork").await.unwrap_err();
        assert_eq!(gone, ForkError::Trimmed { asked: Offset(1), start: Offset(2) });
        assert_eq!(gone.problem(), Problem::OffsetGone);
        let none = fork(&node, "nothing", 0, "fork").await.unwrap_err();
        assert_eq!(none, ForkError::Source(LookupError::NotFound { name: name("nothing") }));
    });
}

#[test]
fn the_name_of_a_deleted_source_is_gone_until_its_forks_are() {
    run(|bench| async move {
        let node = bench.start().await;
        source(&node).await;
        fork(&node, "source", 2, "fork").await.unwrap();
        node.service.delete(&anybody(), &name("source"), None).await.unwrap();
        let gone = node.service.head(&anybody(), &name("source"), None).unwrap_err();
        assert_eq!(gone.problem(), Problem::Gone);
        let held = node.create(put("source", "text/plain")).await.unwrap_err();
        assert!(matches!(held, CreateError::Held { .. }), "{held}");
        assert_eq!(fork(&node, "source", 1, "other").await.unwrap_err().problem(), Problem::Gone);
        node.engine.maintain_now().await;
        assert_eq!(node.texts("fork").await, ["a", "b"], "what it shares is kept");
        node.service.delete(&anybody(), &name("fork"), None).await.unwrap();
        assert!(node.create(put("source", "text/plain")).await.unwrap().new);
    });
}
