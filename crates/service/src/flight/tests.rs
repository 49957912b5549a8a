//! Lanes of creation.
#![allow(clippy::unwrap_used)]

use futures::FutureExt;
use kelda_format::StreamName;

use super::Flights;

fn name(text: &str) -> StreamName {
    StreamName::parse(text).unwrap()
}

#[tokio::test]
async fn one_at_a_time_per_name_and_no_lane_is_left() {
    let flights = Flights::new(8);
    let a = name("a");
    let first = flights.enter(&a).await.unwrap();
    let other = flights.enter(&name("b")).await.unwrap();
    let mut second = Box::pin(flights.enter(&a));
    assert!((&mut second).now_or_never().is_none());
    drop(first);
    let second = second.await.unwrap();
    assert_eq!(flights.len(), 2);
    drop((second, other));
    assert_eq!(flights.len(), 0);
}

#[tokio::test]
async fn who_gives_up_waiting_leaves_nothing_behind() {
    let flights = Flights::new(8);
    let a = name("a");
    let first = flights.enter(&a).await.unwrap();
    let mut second = Box::pin(flights.enter(&a));
    assert!((&mut second).now_or_never().is_none());
    drop(second);
    drop(first);
    assert_eq!(flights.len(), 0);
}

#[tokio::test]
async fn there_is_a_bound() {
    let flights = Flights::new(1);
    let a = name("a");
    let first = flights.enter(&a).await.unwrap();
    assert!(flights.enter(&name("b")).await.is_err());
    drop(first);
    assert!(flights.enter(&name("b")).await.is_ok());
}
