//! A log that begins with a state: what is opened is that state, and the log goes on behind it.

use std::sync::Arc;

use kelda_env::Env;
use kelda_format::command::CreateStream;
use kelda_format::rows::{Expiry, Nonce, Retention, StreamKind};
use kelda_format::{ClusterId, StreamName, Timestamp};
use kelda_meta::{Meta, State};
use kelda_metalog::{AppendError, LogStore, MetaLog, MetaLogConfig, SeedError, SqliteLog, check, seed};

fn creation(name: &str) -> CreateStream {
    CreateStream {
        name: StreamName::parse(name).unwrap(),
        kind: StreamKind::Stream,
        content_type: "text/plain".to_owned(),
        expiry: Expiry::Never,
        retention: Retention::default(),
        arguments: Vec::new(),
        parent: None,
        initialising: false,
        at: Timestamp(1),
        open: None,
    }
}

#[tokio::test]
async fn a_log_begins_with_a_state_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::real(dir.path()).unwrap();
    let mut state = State::new(ClusterId([7; 16]));
    for number in 0..50 {
        state.apply(&creation(&format!("s/{number}")).into()).unwrap();
    }
    let state = state.restored(1000, Timestamp(5));
    let path = dir.path().join("log.sqlite");
    let log = SqliteLog::open(&env, &path).await.unwrap();
    seed(&log, &state, Nonce([1; 16])).await.unwrap();
    let again = seed(&log, &state, Nonce([2; 16])).await;
    assert_eq!(again, Err(SeedError::Append(AppendError::Taken { index: 1 })));
    drop(log);

    let log = SqliteLog::open(&env, &path).await.unwrap();
    let found = check(&log).await;
    assert_eq!((found.first, found.last, found.problems.len()), (1, 1, 0), "{:?}", found.problems);
    assert_eq!(found.snapshot.map(|(index, _)| index), Some(1));
    let log: Arc<dyn LogStore> = Arc::new(log);
    let opened = MetaLog::open(env.clone(), Arc::clone(&log), MetaLogConfig::default()).await.unwrap();
    assert_eq!(*opened.view(), state);
    opened.propose(creation("later").into()).await.unwrap();
    let later = opened.view();
    assert_eq!((later.applied(), later.stream_count()), (2, 51));
    opened.shutdown().await;
    let opened = MetaLog::open(env, log, MetaLogConfig::default()).await.unwrap();
    assert_eq!(*opened.view(), *later);
}
