//! `create`, `head`, `seal` and `delete`: owns one request each, guarantees one answer a stream, never changes
//! records.

use std::time::Duration;

use kelda_client::{Kelda, StreamLimits};
use serde_json::json;

use crate::args::{CreateArgs, DeleteArgs, NameArgs};
use crate::exit::Failure;
use crate::ui::Ui;
use crate::{output, stream};

pub async fn create(kelda: &Kelda, ui: Ui, args: CreateArgs) -> Result<(), Failure> {
    let head = kelda.declare_stream(&args.name, limits(&args)).await?;
    let (new, mut said) = (head.created, stream::object(&head));
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

/// What was asked for, in the spelling that was typed; what was not is left to the server.
fn limits(args: &CreateArgs) -> StreamLimits {
    fn set<T>(
        limits: StreamLimits,
        value: Option<T>,
        set: fn(StreamLimits, T) -> StreamLimits,
    ) -> StreamLimits {
        match value {
            Some(value) => set(limits, value),
            None => limits,
        }
    }
    let limits = set(StreamLimits::new(), args.content_type.clone(), StreamLimits::content_type);
    let limits = set(limits, args.max_age.clone(), StreamLimits::max_age_raw);
    let limits = set(limits, args.max_bytes, StreamLimits::max_bytes);
    let limits = set(limits, args.segment_bytes, StreamLimits::segment_bytes);
    let limits = set(limits, args.ttl.map(Duration::from_secs), StreamLimits::ttl);
    set(limits, args.expires_at, StreamLimits::expires_at)
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
