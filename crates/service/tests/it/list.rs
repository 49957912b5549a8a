//! Lists: by prefix, in pages, in byte order, only what is live.

use kelda_service::{CreateRequest, Fault, ListRequest, Listing, MAX_LIST};

use crate::bench::{Node, anybody, body, name, plain, put, run};

fn list(node: &Node, prefix: &str, start_after: Option<&str>, limit: Option<usize>) -> Listing {
    let request =
        ListRequest { prefix: prefix.to_owned(), start_after: start_after.map(str::to_owned), limit };
    node.service.list(&anybody(), &request).unwrap()
}

fn names(listing: &Listing) -> Vec<&str> {
    listing.streams.iter().map(|info| info.name.as_str()).collect()
}

#[test]
fn pages_go_on_where_the_last_one_ended() {
    run(|bench| async move {
        let node = bench.start().await;
        assert_eq!(list(&node, "", None, None), Listing { streams: vec![], next: None });
        for stream in ["b", "a/2", "a/10", "a", "c", "B", "ä"] {
            node.created(stream).await;
        }
        let all = list(&node, "", None, None);
        assert_eq!(names(&all), ["B", "a", "a/10", "a/2", "b", "c", "ä"]);
        assert_eq!(all.next, None);
        let mut after = None;
        let mut found = Vec::new();
        loop {
            let page = list(&node, "", after.as_deref(), Some(3));
            found.extend(names(&page).into_iter().map(str::to_owned));
            after = page.next.map(|name| name.to_string());
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, names(&all));
        assert_eq!(names(&list(&node, "a/", None, None)), ["a/10", "a/2"]);
        assert_eq!(names(&list(&node, "a", Some("a/1"), Some(1))), ["a/10"]);
        assert_eq!(names(&list(&node, "a/", Some("zz"), None)), Vec::<&str>::new());
        let exact = list(&node, "a", None, Some(3));
        assert_eq!((exact.streams.len(), exact.next), (3, None), "a full page may be the last");
    });
}

#[test]
fn entries_say_what_head_says() {
    run(|bench| async move {
        let node = bench.start().await;
        node.create(CreateRequest { content: body("x"), seal: Some(true), ..put("a", "text/plain") })
            .await
            .unwrap();
        node.created("b").await;
        node.append("b", plain("xyz")).await.unwrap();
        let listing = list(&node, "", None, None);
        assert_eq!(listing.streams, [node.head("a").unwrap(), node.head("b").unwrap()]);
        let b = &listing.streams[1];
        assert_eq!((b.next.0, b.sealed, b.owner.is_some()), (1, false, true));
        assert!(b.newest.is_some() && b.bytes > 0);
    });
}

#[test]
fn a_page_has_a_size_in_bounds() {
    run(|bench| async move {
        let node = bench.start().await;
        for limit in [0, MAX_LIST + 1, usize::MAX] {
            let request = ListRequest { limit: Some(limit), ..ListRequest::default() };
            let found = node.service.list(&anybody(), &request).unwrap_err();
            assert_eq!((found.code(), found.problem().status()), ("invalid-parameter", 400));
        }
        node.created("a").await;
        node.delete("a").await;
        assert!(list(&node, "", None, Some(1)).streams.is_empty());
        let _ = name("a");
    });
}
