//! Which messages of a stream a consumer wants: the arguments `x-stream-filter` and `x-stream-match-unfiltered`.
//!
//! Owns their forms and the choice of records. Guarantees that exactly the records of the wanted values are chosen, and that
//! a block is left out as a whole only when none of its records can be wanted, by the store as well. Pure.

use kelda_format::summary::{self, Selection};
use kelda_format::{Block, StoredRecord, Value};
use memchr::memmem::Finder;

use crate::amqp::reply::{self, Refusal};
use crate::amqp::wire::Table;

/// The values that a consumer wants: one, or an array.
const FILTER: &str = "x-stream-filter";
/// Whether it wants messages without a value as well.
const UNFILTERED: &str = "x-stream-match-unfiltered";
/// Most values of a filter: each is looked for in every block.
const MOST_VALUES: usize = 64;

/// What a consumer wants.
#[derive(Clone, Debug)]
pub struct Filter {
    values: Vec<Finder<'static>>,
    unfiltered: bool,
    selection: Selection,
}

/// Reads the arguments of a consumer; `queue` is how errors name the queue. Nothing when it wants everything.
pub fn parse(arguments: &Table, queue: &str) -> Result<Option<Filter>, Refusal> {
    let invalid = |name: &str, why: &str| {
        reply::precondition_failed(format!("invalid arg '{name}' for {queue}: {why}"))
    };
    let values = match arguments.value(FILTER) {
        None => Vec::new(),
        Some(Value::Array(list)) => list.iter().collect(),
        Some(one) => vec![one],
    };
    let unfiltered = match arguments.value(UNFILTERED) {
        None => false,
        Some(Value::Bool(unfiltered)) => *unfiltered,
        Some(_) => return Err(invalid(UNFILTERED, "true or false is right")),
    };
    if values.len() > MOST_VALUES {
        return Err(invalid(FILTER, &format!("{} values, at most {MOST_VALUES} are allowed", values.len())));
    }
    let mut finders = Vec::with_capacity(values.len());
    for value in values {
        let bytes = text(value).ok_or_else(|| invalid(FILTER, "a string or an array of strings is right"))?;
        finders.push(Finder::new(bytes).into_owned());
    }
    let selection = Selection::new(finders.iter().map(Finder::needle), unfiltered);
    Ok((!finders.is_empty()).then_some(Filter { values: finders, unfiltered, selection }))
}

impl Filter {
    /// What is wanted, as far as the summaries of the store can tell.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Whether a record of this block can be wanted: the encoded headers of all its records are looked through at once.
    pub fn may_want(&self, block: &Block) -> bool {
        self.unfiltered || self.values.iter().any(|value| value.find(block.meta()).is_some())
    }

    /// Whether this record is wanted.
    pub fn wants(&self, record: &StoredRecord) -> bool {
        match summary::value(&record.record.headers) {
            Some(value) => self.values.iter().any(|wanted| wanted.needle() == &value[..]),
            None => self.unfiltered,
        }
    }
}

fn text(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Text(text) | Value::ShortString(text) => Some(text.as_bytes()),
        Value::LongString(bytes) => Some(bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use kelda_format::{Batch, Header, Headers, Offset, Record, StreamId, Timestamp};

    use kelda_format::summary::VALUE_HEADER as VALUE;

    use super::*;

    fn arguments(list: &[(&str, Value)]) -> Table {
        Table(list.iter().map(|(name, value)| Header::new(*name, value.clone())).collect())
    }

    fn texts(list: &[&str]) -> Value {
        Value::Array(list.iter().map(|text| Value::Text((*text).to_owned())).collect())
    }

    fn block(values: &[Option<Value>]) -> Block {
        let records: Vec<Record> = values
            .iter()
            .map(|value| {
                let list: Vec<_> = value.iter().map(|value| Header::new(VALUE, value.clone())).collect();
                Record { headers: Headers::new(&list).unwrap(), ..Record::new("x") }
            })
            .collect();
        Block::place(&Batch::from_records(&records).unwrap(), StreamId(1), Offset(0), Timestamp(0))
    }

    fn chosen(filter: &Filter, block: &Block) -> Vec<u64> {
        block.records().filter(|record| filter.wants(record)).map(|record| record.offset.0).collect()
    }

    #[test]
    fn exactly_the_wanted_values_are_chosen() {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        let block = block(&[text("eu"), text("us"), None, text("eu2"), text(""), Some(Value::I32(1))]);
        let of = |list: &[(&str, Value)]| parse(&arguments(list), "q").unwrap().unwrap();
        let eu = (FILTER, Value::Text("eu".to_owned()));
        assert_eq!(chosen(&of(std::slice::from_ref(&eu)), &block), [0]);
        assert_eq!(chosen(&of(&[eu.clone(), (UNFILTERED, Value::Bool(true))]), &block), [0, 2, 5]);
        assert_eq!(chosen(&of(&[(FILTER, texts(&["us", "eu2"]))]), &block), [1, 3]);
        assert_eq!(chosen(&of(&[(FILTER, texts(&[""]))]), &block), [4]);
        assert!(parse(&arguments(&[(UNFILTERED, Value::Bool(false))]), "q").unwrap().is_none());
        assert!(parse(&arguments(&[(FILTER, texts(&[]))]), "q").unwrap().is_none());
    }

    #[test]
    fn a_block_without_a_wanted_value_is_left_out() {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        let filter = parse(&arguments(&[(FILTER, texts(&["eu", "asia"]))]), "q").unwrap().unwrap();
        assert!(filter.may_want(&block(&[None, text("asia")])));
        assert!(!filter.may_want(&block(&[None, text("us"), text("e"), text("uasi")])));
        let all = [(FILTER, texts(&["eu"])), (UNFILTERED, Value::Bool(true))];
        assert!(parse(&arguments(&all), "q").unwrap().unwrap().may_want(&block(&[None])));
    }

    #[test]
    fn a_filter_that_cannot_be_is_refused() {
        for (name, value) in [
            (FILTER, Value::I32(1)),
            (FILTER, Value::Array(vec![Value::Bool(true)])),
            (FILTER, texts(&["x"; MOST_VALUES + 1])),
            (UNFILTERED, Value::Text("true".to_owned())),
        ] {
            let refused = parse(&arguments(&[(name, value)]), "queue 'q' in vhost '/'").unwrap_err();
            let start = format!("PRECONDITION_FAILED - invalid arg '{name}' for queue 'q' in vhost '/': ");
            assert!(refused.text.starts_with(&start), "{}", refused.text);
        }
    }
}
