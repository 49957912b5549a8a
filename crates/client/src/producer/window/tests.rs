//! The rules against a server that loses, delays and refuses, as the real one does.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

/// What the real server does with sequences, and what got through.
#[derive(Default)]
struct Server {
    /// Batches by sequence.
    stored: Vec<Number>,
}

impl Server {
    /// The place of a batch; nothing when one before it is missing.
    fn append(&mut self, send: Send) -> Option<(u64, bool)> {
        let expected = self.stored.len() as u64;
        match send.sequence {
            known if known < expected => {
                assert_eq!(self.stored[known as usize], send.number, "a sequence is of one batch");
                Some((known, true))
            }
            next if next == expected => {
                self.stored.push(send.number);
                Some((next, false))
            }
            _ => None,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]
    #[test]
    fn each_batch_is_stored_once_and_in_order(
        limit in 1_usize..9,
        steps in prop::collection::vec((0_u8..12, any::<u8>()), 0..300),
    ) {
        let mut window: Window<Result<u64, ()>> = Window::new(limit);
        let (mut server, mut out) = (Server::default(), Vec::<Send>::new());
        let (mut pushed, mut told, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        let settling = (0..2_000).map(|step| ([3, 5, 9][step % 3], 0));
        for (step, which) in steps.into_iter().chain(settling) {
            match step {
                0..=2 if window.takes(false) => pushed.push(window.push(false)),
                // A conditional batch whose condition does not hold is refused when it arrives, and not counted.
                11 if window.takes(true) => {
                    let number = window.push(true);
                    let send = window.send().unwrap();
                    prop_assert_eq!((send.number, send.sequence), (number, server.stored.len() as u64));
                    if which % 2 == 0 {
                        window.again(number);
                        prop_assert!(!window.takes(false));
                        prop_assert_eq!(window.send().map(|send| send.tries), Some(1));
                    }
                    window.refused(number, Err(()));
                    refused.push(number);
                    prop_assert_eq!(window.told(), Some((number, Err(()))));
                }
                3..=4 => out.extend(window.send()),
                5..=10 if !out.is_empty() => {
                    let send = out.remove(usize::from(which) % out.len());
                    match step {
                        // Never arrived.
                        6 => window.again(send.number),
                        // Arrived, and the answer was lost.
                        7 | 8 => {
                            server.append(send);
                            window.again(send.number);
                        }
                        _ => match server.append(send) {
                            Some((place, _)) => window.done(send.number, Ok(place)),
                            None => {
                                prop_assert!(!send.first, "nothing is before the first");
                                window.again(send.number);
                            }
                        },
                    }
                }
                _ => {}
            }
            prop_assert!(out.len() <= limit);
            told.extend(std::iter::from_fn(|| window.told()));
        }
        prop_assert!(window.is_empty() && out.is_empty(), "all is told in the end");
        prop_assert_eq!(&server.stored, &pushed);
        let expected: Vec<_> = pushed.iter().zip(0..).map(|(number, place)| (*number, Ok(place))).collect();
        prop_assert_eq!(told, expected);
        prop_assert!(refused.iter().all(|number| !server.stored.contains(number)));
    }
}

#[test]
fn after_a_failure_the_oldest_goes_alone() {
    let mut window: Window<u64> = Window::new(4);
    let sends: Vec<_> = (0..3).map(|_| window.push(false)).collect();
    while window.send().is_some() {}
    window.again(sends[1]);
    assert!(window.is_recovering());
    assert_eq!(window.send(), None, "others are out");
    window.again(sends[0]);
    window.done(sends[2], 2);
    assert_eq!(window.told(), None, "results are told in order");
    assert_eq!(window.send(), Some(Send { number: 0, sequence: 0, tries: 1, first: true }));
    assert_eq!(window.send(), None, "alone");
    window.done(sends[0], 0);
    assert_eq!(window.send(), Some(Send { number: 1, sequence: 1, tries: 1, first: true }));
    window.done(sends[1], 1);
    assert_eq!(std::iter::from_fn(|| window.told()).collect::<Vec<_>>(), [(0, 0), (1, 1), (2, 2)]);
}

#[test]
fn there_is_room_for_so_many() {
    let mut window: Window<u64> = Window::new(2);
    window.push(false);
    assert!(window.takes(false) && !window.takes(true));
    window.push(false);
    assert!(!window.takes(false));
    let mut window: Window<u64> = Window::new(2);
    window.push(true);
    assert!(!window.takes(false), "a conditional batch is alone");
}

#[test]
fn what_has_no_result_gets_new_sequences_and_waits_for_what_is_out() {
    let mut window: Window<u64> = Window::new(4);
    let [done, one, two, three] = std::array::from_fn(|_| window.push(false));
    let sent: Vec<_> = std::iter::from_fn(|| window.send()).map(|send| send.sequence).collect();
    assert_eq!(sent, [0, 1, 2, 3]);
    window.done(done, 7);
    assert_eq!(window.told(), Some((done, 7)));
    window.renumber(one);
    assert_eq!(window.send(), None, "what is out was sent with the old sequences");
    window.again(three);
    window.again(two);
    let next = window.send().unwrap();
    assert_eq!((next.number, next.sequence, next.tries, next.first), (one, 0, 1, true));
    assert_eq!(window.send(), None, "the oldest goes alone");
    window.done(one, 8);
    let rest: Vec<_> =
        std::iter::from_fn(|| window.send()).map(|send| (send.number, send.sequence)).collect();
    assert_eq!(rest, [(two, 1), (three, 2)]);
}

#[test]
fn the_first_of_all_goes_alone_until_it_is_acknowledged() {
    let mut window: Window<u64> = Window::new(4).proving();
    let numbers: Vec<Number> = (0..3).map(|_| window.push(false)).collect();
    let first = window.send().unwrap();
    assert_eq!((first.number, window.send()), (numbers[0], None));
    window.again(numbers[0]);
    assert_eq!(window.send().map(|send| (send.number, send.tries)), Some((numbers[0], 1)));
    assert_eq!(window.send(), None);
    window.done(numbers[0], 0);
    let sent: Vec<Number> = std::iter::from_fn(|| window.send()).map(|send| send.number).collect();
    assert_eq!(sent, numbers[1..]);
}
