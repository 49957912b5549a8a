//! HEAD, PATCH and the list: what streams are and what becomes of them.

use crate::support::TestNode;

#[tokio::test]
async fn a_head_says_everything() {
    let node = TestNode::start().await;
    let headers = [
        ("content-type", "text/plain"),
        ("stream-ttl", "3600"),
        ("kelda-max-bytes", "5000"),
        ("kelda-segment-bytes", "100"),
    ];
    node.send("PUT", "/s", &headers, "").await;
    let reply = node.head("/s").await;
    assert_eq!((reply.status, reply.body.len()), (200, 0));
    for (name, value) in [
        ("content-type", Some("text/plain")),
        ("stream-ttl", Some("3600")),
        ("kelda-max-bytes", Some("5000")),
        ("kelda-segment-bytes", Some("100")),
        ("kelda-max-age", None),
        ("kelda-kind", Some("stream")),
        ("kelda-bytes", Some("0")),
        ("kelda-oldest", None),
        ("kelda-newest", None),
        ("stream-closed", None),
        ("cache-control", Some("no-store")),
    ] {
        assert_eq!(reply.header(name), value, "{name}");
    }
    assert_eq!((reply.offset("kelda-start-offset"), reply.offset("stream-next-offset")), (0, 0));
    node.append("/s", "a").await;
    node.append("/s", "b").await;
    let reply = node.head("/s").await;
    assert_eq!(reply.offset("stream-next-offset"), 2);
    assert_eq!(reply.header("kelda-epoch"), Some("0"));
    assert_eq!(reply.header("kelda-owner"), Some(node.address().to_string().as_str()));
    assert!(reply.header("kelda-bytes").unwrap().parse::<u64>().unwrap() >= 2);
    for name in ["kelda-newest", "kelda-created"] {
        kelda_server::time::parse(reply.header(name).unwrap()).unwrap();
    }
}

#[tokio::test]
async fn trimming_gives_up_the_old_end() {
    let node = TestNode::start().await;
    node.filled("/s", &["a", "b", "c"]).await;
    let trim = |before: &'static str| {
        let node = &node;
        async move { node.send("PATCH", "/s", &[("kelda-trim-before", before)], "").await }
    };
    let reply = trim("2").await;
    assert_eq!((reply.status, reply.offset("kelda-start-offset")), (204, 2));
    assert_eq!(trim("1").await.offset("kelda-start-offset"), 2, "what is gone is gone");
    assert_eq!(node.get("/s").await.text(), "c");
    let past = trim("4").await;
    assert_eq!(past.refused(), (416, "offset-past-tail".to_owned()));
    assert_eq!(past.offset("stream-next-offset"), 3);
    assert_eq!(trim("3").await.offset("kelda-start-offset"), 3, "all of it");
    assert_eq!(node.get("/s").await.text(), "");
    assert_eq!(node.append("/s", "d").await.offset("kelda-first-offset"), 3, "offsets go on");
    for wrong in ["-1", "now", "x", ""] {
        assert_eq!(trim(wrong).await.refused(), (400, "invalid-header".to_owned()), "{wrong}");
    }
}

#[tokio::test]
async fn retention_changes_and_goes() {
    let node = TestNode::start().await;
    node.send(
        "PUT",
        "/s",
        &[("content-type", "text/plain"), ("kelda-max-age", "7d"), ("kelda-max-bytes", "10")],
        "",
    )
    .await;
    let change = [("kelda-max-age", "1h"), ("kelda-max-bytes", "none")];
    let reply = node.send("PATCH", "/s", &change, "").await;
    assert_eq!(
        (reply.status, reply.header("kelda-max-age"), reply.header("kelda-max-bytes")),
        (204, Some("1h"), None)
    );
    let head = node.head("/s").await;
    assert_eq!((head.header("kelda-max-age"), head.header("kelda-max-bytes")), (Some("1h"), None));
    let nothing = node.send("PATCH", "/s", &[], "").await;
    assert_eq!(nothing.refused(), (400, "bad-request".to_owned()));
    let wrong = node.send("PATCH", "/s", &[("kelda-max-age", "1")], "").await;
    assert_eq!(wrong.refused(), (400, "invalid-header".to_owned()));
    let none = node.send("PATCH", "/none", &change, "").await;
    assert_eq!(none.refused(), (404, "not-found".to_owned()));
}

#[tokio::test]
async fn lists_come_in_byte_order_and_pages() {
    let node = TestNode::start().await;
    let names = ["B", "a", "logs/api", "logs/web", "logs0", "é"];
    for name in ["logs/web", "é", "a", "logs0", "B", "logs/api"] {
        node.create(&format!("/{}", name.replace('é', "%C3%A9")), "text/plain").await;
    }
    let list = |query: &'static str| {
        let node = &node;
        async move {
            let json = node.get(&format!("/?{query}")).await.json();
            let names: Vec<_> = json["streams"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["name"].as_str().unwrap().to_owned())
                .collect();
            (names, json["next"].as_str().map(str::to_owned))
        }
    };
    assert_eq!(list("").await, (names.map(str::to_owned).to_vec(), None));
    assert_eq!(list("prefix=logs/").await.0, ["logs/api", "logs/web"]);
    assert_eq!(list("prefix=logs%2F&start_after=logs%2Fapi").await.0, ["logs/web"]);
    let (mut all, mut after) = (Vec::new(), None::<String>);
    loop {
        let target = after.as_ref().map_or("/?limit=2".to_owned(), |after| {
            format!("/?limit=2&start_after={}", after.replace('é', "%C3%A9"))
        });
        let json = node.get(&target).await.json();
        all.extend(
            json["streams"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()),
        );
        after = json["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(all, names);
    let one = node.get("/?prefix=B").await.json()["streams"][0].clone();
    assert_eq!(
        (one["next_offset"].as_str(), one["sealed"].as_bool()),
        (Some("00000000000000000000"), Some(false))
    );
    assert!(one["stream_id"].is_string() && one["created"].is_string());
}
