//! `trim` and `set`: owns what of a stream is kept, guarantees that a time is turned into an offset of the same stream
//! that is then trimmed, never removes more than was asked for.

use kelda_client::{Kelda, Limits, StreamHead};

use crate::args::{SetArgs, TrimArgs};
use crate::exit::Failure;
use crate::ui::Ui;
use crate::{output, range, stream};

pub async fn trim(kelda: &Kelda, ui: Ui, args: TrimArgs) -> Result<(), Failure> {
    let (offset, stream_id) = range::offset_of(kelda, &args.name, &args.before).await?;
    let head = kelda.trim(&args.name, offset, stream_id.as_deref()).await?;
    let (start, next) = (stream::number(&head, "kelda-start-offset"), head.next_offset);
    let left = next.saturating_sub(start);
    ui.done(format_args!(
        "{} begins at offset {start}, {} {} left",
        args.name,
        output::records(left),
        if left == 1 { "is" } else { "are" }
    ));
    print(ui, &head)
}

pub async fn set(kelda: &Kelda, ui: Ui, args: SetArgs) -> Result<(), Failure> {
    let SetArgs { name, max_age, max_bytes, segment_bytes } = args;
    let head = kelda.set(&name, &Limits { max_age, max_bytes, segment_bytes }).await?;
    let said = stream::object(&head);
    if stream::is_unlimited(&said) {
        ui.warn_unlimited(&name);
    }
    ui.done(format_args!("{name}: {}", crate::ls::limits(&said)));
    print(ui, &head)
}

fn print(ui: Ui, head: &StreamHead) -> Result<(), Failure> {
    if ui.json { output::line(&stream::object(head)) } else { Ok(()) }
}
