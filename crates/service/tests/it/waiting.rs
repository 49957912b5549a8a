//! Waiting at the tail.

use futures::future::{FutureExt, join};
use kelda_format::Offset;
use kelda_service::{AppendRequest, Wait};

use crate::bench::{anybody, name, plain, run, seal, seconds};

#[test]
fn a_waiter_wakes_for_records_a_seal_a_delete_and_in_time() {
    run(|bench| async move {
        let node = bench.start().await;
        let stream = node.created("a").await.stream;
        let a = name("a");
        let wait = |after| node.service.wait(&a, stream, Offset(after), seconds(25));
        assert_eq!(wait(0).await, Wait::TimedOut);
        let (woken, _) = join(wait(0), node.append("a", plain("x"))).await;
        assert_eq!(woken, Wait::Data);
        assert_eq!(wait(0).now_or_never(), Some(Wait::Data), "what is there is not waited for");
        let (woken, _) = join(wait(1), node.append("a", AppendRequest { seal: true, ..plain("y") })).await;
        assert_eq!(woken, Wait::Data);
        assert_eq!(wait(2).await, Wait::Sealed);
        let (woken, _) = join(wait(2), node.append("a", seal())).await;
        assert_eq!(woken, Wait::Sealed);
        node.delete("a").await;
        assert_eq!(wait(0).await, Wait::Gone);
        let new = node.created("a").await.stream;
        assert_eq!(wait(0).await, Wait::Gone, "the name is another stream now");
        let parked = node.service.wait(&a, new, Offset(0), seconds(25));
        let (woken, _) = join(parked, node.service.delete(&anybody(), &a, None)).await;
        assert_eq!(woken, Wait::Gone);
    });
}
