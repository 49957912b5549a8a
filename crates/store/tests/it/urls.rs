//! URLs of stores: what they mean and what is said of those that mean nothing.

use std::path::PathBuf;

use kelda_store::{RemoteUrl, Service, StoreUrl};

fn remote(text: &str) -> RemoteUrl {
    match text.parse() {
        Ok(StoreUrl::Remote(remote)) => remote,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn each_kind_is_read() {
    assert_eq!("local".parse(), Ok(StoreUrl::Local));
    assert_eq!("file:///srv/a%20b".parse(), Ok(StoreUrl::File(PathBuf::from("/srv/a b"))));
    let query = "region=eu-central-1&endpoint=https://s3.example:9000&virtual_hosted=true";
    let s3 = remote(&format!("s3://bucket/some/prefix/?{query}"));
    assert_eq!((s3.service, s3.bucket.as_str(), s3.prefix.as_str()), (Service::S3, "bucket", "some/prefix"));
    assert_eq!(s3.options["endpoint"], "https://s3.example:9000");
    let gs = remote("gs://my.bucket");
    assert_eq!((gs.service, gs.bucket.as_str(), gs.prefix.as_str()), (Service::Google, "my.bucket", ""));
    let az = remote("az://container/p?account=acc");
    assert_eq!((az.service, az.options["account"].as_str()), (Service::Azure, "acc"));
}

#[test]
fn what_is_written_reads_back() {
    for text in [
        "local",
        "file:///srv/a%20b",
        "s3://bucket",
        "s3://bucket/some/prefix?allow_http=true&endpoint=http://127.0.0.1:9000&region=us-east-1",
        "gs://bucket/p",
        "az://container/p?account=acc",
    ] {
        let url: StoreUrl = text.parse().unwrap();
        assert_eq!(url.to_string(), text);
        assert_eq!(url.to_string().parse(), Ok(url));
    }
}

#[test]
fn errors_name_the_value_and_what_would_be_right() {
    for (text, wanted) in [
        ("", "`` names no store: write local, file:///path, s3://bucket/prefix"),
        ("bucket", "`bucket` names no store"),
        ("ftp://bucket", "`ftp` in `ftp://bucket` is no kind of store: write file, s3, gs or az"),
        ("file://relative/path", "write file:// and an absolute path"),
        ("file:///path?region=x", "has a query"),
        ("s3://", "`` in `s3://` is no name of a bucket"),
        ("s3://b/p", "`b` in `s3://b/p` is no name of a bucket"),
        ("s3://key:secret@bucket/p", "holds no credentials: put them in AWS_ACCESS_KEY_ID and"),
        ("s3://bucket/a//b", "is no prefix"),
        ("s3://bucket/a b", "is no prefix"),
        (
            "s3://bucket?regoin=x",
            "`regoin` in the query of `s3://bucket?regoin=x` is not known: s3 takes region,",
        ),
        ("s3://bucket?access_key_id=x", "credentials come from AWS_ACCESS_KEY_ID"),
        ("gs://bucket?region=x", "gs takes endpoint"),
        ("s3://bucket?region=", "`region` in `s3://bucket?region=` has no value"),
        ("s3://bucket?region=a&region=b", "`region` is twice"),
        ("s3://bucket?virtual_hosted=yes", "is neither true nor false"),
        ("s3://bucket?endpoint=host:9000", "`endpoint=host:9000`"),
        ("s3://bucket?endpoint=http://host", "plain HTTP, which anybody on the way can read and change"),
    ] {
        let error = text.parse::<StoreUrl>().unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
        assert!(!error.contains("secret@"), "{text}: {error}");
    }
}
