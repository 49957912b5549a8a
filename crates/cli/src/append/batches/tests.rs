//! What becomes a record, and where a batch ends.
#![allow(clippy::unwrap_used)]

use super::*;

fn batches(text: &[u8], shape: Shape, json: bool) -> (Vec<(u64, u64)>, Result<(), Failure>) {
    let (sender, mut receiver) = mpsc::channel(64);
    let input = Input::of_bytes("input", text.to_vec());
    let result = read(vec![input], shape, json, &sender);
    let mut sent = Vec::new();
    while let Ok(Piece { batch, counts }) = receiver.try_recv() {
        assert_eq!(u64::from(batch.count()), counts.records);
        sent.push((counts.records, counts.input_bytes));
    }
    (sent, result)
}

#[test]
fn a_file_makes_full_batches() {
    let (sent, result) = batches("a\n".repeat(10_000).as_bytes(), Shape::Lines, false);
    assert!(result.is_ok());
    assert_eq!(sent, [(4096, 8192), (4096, 8192), (1808, 3616)]);
    let line = "x".repeat(700_000) + "\n";
    let (sent, _) = batches(line.repeat(3).as_bytes(), Shape::Lines, false);
    assert_eq!(sent.len(), 3, "two of them are more than a batch");
}

#[test]
fn a_wrong_record_takes_its_batch_with_it() {
    let text = r#"{"body":"a"}
{"body":"b"}

{"boddy":"c"}
"#;
    let (sent, result) = batches(text.as_bytes(), Shape::Records, false);
    assert!(sent.is_empty());
    let Err(Failure::Said(complaint)) = result else { panic!("refused") };
    let text = format!("{complaint:?}");
    assert!(text.contains("input line 4: unknown field `boddy`") && text.contains("column 8"), "{text}");
}

#[test]
fn blank_lines_are_records_of_text_and_nothing_in_json() {
    assert_eq!(batches(b"a\n\nb", Shape::Lines, false).0, [(3, 4)]);
    assert_eq!(batches(b"1\n \n2\n", Shape::Lines, true).0, [(2, 6)]);
    assert_eq!(batches(b"{}\n\n", Shape::Records, false).0, [(1, 4)]);
    assert_eq!(batches(b"a\nb\n", Shape::Whole, false).0, [(1, 4)]);
    assert_eq!(batches(b"", Shape::Whole, false).0, []);
}

#[test]
fn what_is_no_json_is_refused_before_it_is_sent() {
    let (sent, result) = batches(b"{}\nnope\n", Shape::Lines, true);
    assert!(sent.is_empty() && result.is_err());
    let (sent, result) = batches(br#"{"body":"nope"}"#, Shape::Records, true);
    assert!(sent.is_empty() && result.is_err());
}
