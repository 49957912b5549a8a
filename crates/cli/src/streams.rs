//! `create`, `ls`, `head`, `seal` and `delete`: owns one request each, guarantees one answer a stream, never
//! changes records.

use kelda_client::{CreateOptions, Kelda, StreamHead};
use serde_json::{Value, json};

use crate::args::{CreateArgs, DeleteArgs, LsArgs, NameArgs};
use crate::exit::Failure;
use crate::output;

pub async fn create(kelda: &Kelda, args: CreateArgs) -> Result<(), Failure> {
    let unlimited =
        args.max_age.is_none() && args.max_bytes.is_none() && args.ttl.is_none() && args.expires_at.is_none();
    let options = CreateOptions {
        content_type: args.content_type,
        ttl_seconds: args.ttl,
        expires_at: args.expires_at,
        max_age: args.max_age,
        max_bytes: args.max_bytes,
        segment_bytes: args.segment_bytes,
    };
    let (new, head) = kelda.create(&args.name, &options).await?;
    if new && unlimited {
        let name = &args.name;
        eprintln!(
            "kelda: {name} has no limit and grows until the disk is full; see --max-age and --max-bytes"
        );
    }
    if args.json {
        let mut value = describe(&head);
        value["created"] = Value::Bool(new);
        return output::line(&value);
    }
    let what = if new { "created" } else { "exists" };
    output::text(&format!("{} {what}, {}, next offset {}", head.name, head.content_type, head.next_offset))
}

pub async fn list(kelda: &Kelda, args: LsArgs) -> Result<(), Failure> {
    let mut after: Option<String> = None;
    loop {
        let page = kelda.list(&args.prefix, after.as_deref()).await?;
        for stream in &page.streams {
            if args.json {
                output::line(stream)?;
            } else {
                let name = stream.get("name").and_then(Value::as_str).unwrap_or_default();
                output::text(name)?;
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

pub async fn head(kelda: &Kelda, args: NameArgs) -> Result<(), Failure> {
    let head = kelda.head(&args.name).await?;
    if args.json {
        return output::line(&describe(&head));
    }
    output::text(&format!("{}: {}", head.name, head.content_type))?;
    for (name, value) in &head.headers {
        output::text(&format!("  {name}: {value}"))?;
    }
    Ok(())
}

pub async fn seal(kelda: &Kelda, args: NameArgs) -> Result<(), Failure> {
    let next = kelda.seal(&args.name).await?;
    if args.json {
        return output::line(&json!({"stream": args.name, "sealed": true, "next_offset": next.to_string()}));
    }
    output::text(&format!("{} sealed at offset {next}", args.name))
}

pub async fn delete(kelda: &Kelda, args: DeleteArgs) -> Result<(), Failure> {
    for name in &args.names {
        kelda.delete(name).await?;
        eprintln!("{name} deleted");
    }
    Ok(())
}

fn describe(head: &StreamHead) -> Value {
    json!({
        "name": head.name,
        "stream_id": head.stream_id,
        "content_type": head.content_type,
        "next_offset": head.next_offset.to_string(),
        "sealed": head.sealed,
        "headers": head.headers,
    })
}
