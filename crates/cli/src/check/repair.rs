//! The repair in words: owns what is asked before and said after. Guarantees that nothing is done unasked. Never repairs.

use std::fmt::Write as _;
use std::io::{BufRead as _, IsTerminal as _, Write as _};

use indicatif::HumanBytes;
use kelda_server::check::{Plan, Repaired};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::ui::Ui;

/// Lets whoever looks decide; fails unless the answer is yes.
pub fn consent(ui: Ui, plan: &Plan, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let what = planned(plan);
    if ui.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::usage(format!(
            "nothing was changed: --repair would {what}; add --yes to have it done"
        )));
    }
    let mut err = std::io::stderr().lock();
    // With standard error closed nobody could have read the question.
    let _ = write!(err, "The repair would {what}.\nGo on? [y/N] ");
    let _ = err.flush();
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    match read {
        Ok(_) if matches!(answer.trim(), "y" | "Y" | "yes") => Ok(()),
        Ok(_) => Err(Failure::local("nothing was changed")),
        Err(error) => Err(Failure::local(format!("standard input: {error}; nothing was changed"))),
    }
}

fn planned(plan: &Plan) -> String {
    let mut parts = Vec::new();
    if !plan.orphans.is_empty() {
        let bytes = plan.orphans.iter().map(|(_, bytes)| bytes).sum();
        parts.push(format!("remove {} with {}", counted(plan.orphans.len(), "orphan"), HumanBytes(bytes)));
    }
    if !plan.slots.is_empty() {
        let slots = counted(plan.slots.len(), "slot");
        parts.push(format!("remove {slots} of write-ahead logs that nothing needs"));
    }
    if !plan.files.is_empty() {
        parts.push(format!("remove {} that nothing needs", counted(plan.files.len(), "file")));
    }
    if plan.staged {
        parts.push("remove what interrupted writes left in the store".to_owned());
    }
    if !plan.indexes.is_empty() {
        parts.push(format!("build {} anew where the data are intact", counted(plan.indexes.len(), "index")));
    }
    parts.join(", ")
}

fn counted(count: usize, noun: &str) -> String {
    match (count, noun) {
        (1, noun) => format!("1 {noun}"),
        (count, "index") => format!("{count} indexes"),
        (count, noun) => format!("{count} {noun}s"),
    }
}

/// What was done, for people.
pub fn text(repaired: Option<&Repaired>) -> String {
    let Some(done) = repaired else { return "nothing to repair\n\n".to_owned() };
    let mut out = format!(
        "removed {} with {} and {}; built {} anew\n",
        counted(usize::try_from(done.objects).unwrap_or(usize::MAX), "orphan"),
        HumanBytes(done.bytes),
        counted(usize::try_from(done.leftovers).unwrap_or(usize::MAX), "left-over"),
        counted(done.indexes.len(), "index")
    );
    for failed in &done.failed {
        let _ = writeln!(out, "not repaired: {}\n    {}", failed.file, failed.detail);
    }
    out.push('\n');
    out
}

/// What was done, as JSON.
pub fn json(done: &Repaired) -> Value {
    json!({
        "removed_objects": done.objects,
        "removed_object_bytes": done.bytes,
        "removed_leftovers": done.leftovers,
        "rebuilt": done.indexes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "failed": done.failed.iter().map(|failed| {
            json!({"file": failed.file, "detail": failed.detail})
        }).collect::<Vec<_>>(),
    })
}
