//! `create`, `head`, `seal` and `delete`: owns one request each, guarantees one answer a stream, never changes
//! records.

use kelda_client::{CreateOptions, Kelda};
use serde_json::json;

use crate::args::{CreateArgs, DeleteArgs, NameArgs};
use crate::exit::Failure;
use crate::ui::Ui;
use crate::{output, stream};

pub async fn create(kelda: &Kelda, ui: Ui, args: CreateArgs) -> Result<(), Failure> {
    let options = CreateOptions {
        content_type: args.content_type,
        ttl_seconds: args.ttl,
        expires_at: args.expires_at,
        max_age: args.max_age,
        max_bytes: args.max_bytes,
        segment_bytes: args.segment_bytes,
    };
    let (new, head) = kelda.create(&args.name, &options).await?;
    let mut said = stream::object(&head);
    if new && stream::is_unlimited(&said) {
        ui.warn_unlimited(&args.name);
    }
    if ui.json {
        said["new"] = json!(new);
        return output::line(&said);
    }
    let what = if new { "created" } else { "was there" };
    ui.done(format_args!("{} {what}: {}, next offset {}", head.name, head.content_type, head.next_offset));
    Ok(())
}

pub async fn head(kelda: &Kelda, ui: Ui, args: NameArgs) -> Result<(), Failure> {
    let head = kelda.head(&args.name).await.map_err(|error| Failure::about(&args.name, error))?;
    let said = stream::object(&head);
    if ui.json { output::line(&said) } else { output::whole(&stream::describe(&said)) }
}

pub async fn seal(kelda: &Kelda, ui: Ui, args: NameArgs) -> Result<(), Failure> {
    let next = kelda.seal(&args.name).await?;
    ui.done(format_args!("{} sealed at offset {next}", args.name));
    if !ui.json {
        return Ok(());
    }
    output::line(&json!({"stream": args.name, "sealed": true, "next_offset": output::offset(next)}))
}

pub async fn delete(kelda: &Kelda, ui: Ui, args: DeleteArgs) -> Result<(), Failure> {
    for name in &args.names {
        kelda.delete(name).await.map_err(|error| Failure::about(name, error))?;
        ui.done(format_args!("{name} deleted"));
        if ui.json {
            output::line(&json!({"stream": name, "deleted": true}))?;
        }
    }
    Ok(())
}
