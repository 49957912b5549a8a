//! The cache of loads by itself.

use futures::FutureExt;

use crate::objects::load_cache::{Begin, LoadCache};

fn load(cache: &LoadCache<u32, u32>, key: u32, weight: usize) {
    let Begin::Load(claim) = cache.begin(key, std::iter::empty()) else { panic!("{key} is there") };
    claim.fulfil([(key * 10, weight)]);
}

fn is_kept(cache: &LoadCache<u32, u32>, key: u32) -> bool {
    cache.peek(key).is_some()
}

#[test]
fn the_least_recently_used_goes_first() {
    let cache = LoadCache::new(30, 30);
    for key in [1, 2, 3] {
        load(&cache, key, 10);
    }
    assert!(matches!(cache.begin(1, std::iter::empty()), Begin::Ready(10)));
    load(&cache, 4, 10);
    assert_eq!([1, 2, 3, 4].map(|key| is_kept(&cache, key)), [true, false, true, true]);
    load(&cache, 5, 25);
    assert_eq!([1, 3, 4, 5].map(|key| is_kept(&cache, key)), [false, false, false, true]);
    assert_eq!(cache.weight(), 25);
}

#[test]
fn what_is_too_heavy_is_not_kept() {
    let cache = LoadCache::new(100, 25);
    load(&cache, 1, 25);
    load(&cache, 2, 26);
    assert_eq!([1, 2].map(|key| is_kept(&cache, key)), [true, false]);
    load(&cache, 2, 1);
    assert!(is_kept(&cache, 2), "it may be loaded again");
}

#[test]
fn a_claim_stops_at_what_is_there_or_on_its_way() {
    let cache = LoadCache::new(100, 100);
    load(&cache, 3, 1);
    let Begin::Load(first) = cache.begin(1, 2..9) else { panic!() };
    assert_eq!(first.keys(), [1, 2]);
    let Begin::Load(second) = cache.begin(5, 6..9) else { panic!() };
    let Begin::Load(third) = cache.begin(4, 5..9) else { panic!() };
    assert_eq!((second.keys(), third.keys()), (&[5, 6, 7, 8][..], &[4][..]));
}

#[test]
fn waiters_go_on_when_the_claim_ends_either_way() {
    for fulfilled in [true, false] {
        let cache = LoadCache::new(100, 100);
        let Begin::Load(claim) = cache.begin(1, 2..3) else { panic!() };
        let Begin::Wait(pending) = cache.begin(2, std::iter::empty()) else { panic!() };
        let mut ended = Box::pin(pending.ended());
        assert!(ended.as_mut().now_or_never().is_none());
        if fulfilled {
            claim.fulfil([(7, 1), (8, 1)])
        } else {
            drop(claim)
        }
        assert!(ended.now_or_never().is_some());
        let again = cache.begin(2, std::iter::empty());
        assert_eq!(matches!(again, Begin::Ready(8)), fulfilled);
        assert_eq!(matches!(again, Begin::Load(_)), !fulfilled);
    }
}

#[test]
fn what_was_loaded_ahead_stays_until_it_is_used() {
    let cache = LoadCache::new(40, 40);
    let Begin::Load(claim) = cache.begin(1, 2..3) else { panic!() };
    claim.fulfil_ahead([(10, 10), (20, 10)]);
    for key in 3..9 {
        load(&cache, key, 10);
    }
    assert_eq!([1, 2, 6, 7, 8].map(|key| is_kept(&cache, key)), [true, true, false, true, true]);
    assert!(matches!(cache.begin(1, std::iter::empty()), Begin::Ready(10)));
    for key in 9..12 {
        load(&cache, key, 10);
    }
    assert_eq!([1, 2].map(|key| is_kept(&cache, key)), [false, true], "used, and not yet");
    let Begin::Load(claim) = cache.begin(20, 21..23) else { panic!() };
    claim.fulfil_ahead([(0, 10), (0, 10), (0, 10)]);
    assert_eq!([2, 20, 21, 22].map(|key| is_kept(&cache, key)), [false, false, true, true], "half is theirs");
    assert_eq!(cache.weight(), 40);
}
