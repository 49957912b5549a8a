//! Progress on a terminal: owns the bar with rate and time left, guarantees that it is gone when it is dropped, never
//! shows anything unless it was asked to.

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bar is drawn so often a second.
const DRAWS_PER_SECOND: u8 = 10;
const BYTES: &str = "{wide_bar} {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  eta {eta}";
const RECORDS: &str = "{wide_bar} {human_pos}/{human_len} records  {per_sec}  {msg}  eta {eta}";

/// A bar, or nothing.
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// Of so many bytes; nothing when they are not known or nobody looks.
    pub fn of_bytes(total: Option<u64>) -> Progress {
        Progress(total.map(|total| bar(total, BYTES)))
    }

    /// Of so many records; nothing when they are not known or nobody looks.
    pub fn of_records(total: Option<u64>) -> Progress {
        Progress(total.map(|total| bar(total, RECORDS)))
    }

    /// So many bytes more are done.
    pub fn bytes(&self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.inc(bytes);
        }
    }

    /// So many records more are done, which had so many bytes.
    pub fn records(&self, records: u64, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.set_message(format!("+{}", HumanBytes(bytes)));
            bar.inc(records);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: u64, template: &str) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
    let bar = ProgressBar::with_draw_target(Some(total), target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.tick();
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_templates_are_templates_with_rate_and_time_left() {
        for template in [BYTES, RECORDS] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
            assert!(template.contains("per_sec}") && template.contains("{eta}"), "{template}");
        }
    }
}
