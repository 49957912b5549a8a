//! A simulated object store: owns the objects and what happens to requests on their way. Guarantees that an object appears
//! whole, durable, and at one moment. Never forgets a request because the sender died: it may still arrive.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::fate::{Fate, Way};
use super::objects::{Body, Objects};
use super::world::{FIRST_MS, World, pause};
use crate::{Adopted, Disk, ObjectInfo, Place, Store, StoreError, StoreOp, Tag, check_key};

/// A simulated object store. Cheap to clone; all clones are one store.
#[derive(Clone)]
pub struct SimStore {
    world: Arc<World>,
    objects: Arc<Mutex<Objects>>,
    ahead_ms: Arc<AtomicI64>,
}

impl SimStore {
    pub(super) fn new(world: Arc<World>) -> SimStore {
        SimStore { world, objects: Arc::default(), ahead_ms: Arc::default() }
    }

    /// The keys of all objects, without delay or fault, for checks.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.objects.lock().keys()
    }

    /// An object, without delay or fault, for checks.
    #[must_use]
    pub fn peek(&self, key: &str) -> Option<Bytes> {
        self.objects.lock().read(key)
    }

    /// Flips the lowest bit of a byte of an object, as decay does. False when there is no such byte.
    #[must_use]
    pub fn flip_bit(&self, key: &str, at: u64) -> bool {
        self.objects.lock().flip_bit(key, at)
    }

    /// Removes an object, as an accident does. False when there is none.
    #[must_use]
    pub fn lose(&self, key: &str) -> bool {
        self.objects.lock().remove(key)
    }

    /// The keys of uploads that broke off and left pieces behind, each as often as it did.
    #[must_use]
    pub fn left_over(&self) -> Vec<String> {
        self.objects.lock().left_over()
    }

    /// Moves the store's clock by so many milliseconds, in either direction.
    pub fn jump_clock(&self, ms: i64) {
        self.ahead_ms.fetch_add(ms, Ordering::Relaxed);
        self.world.note(&format!("store clock jumps {ms} ms"));
    }

    /// The time by the store's clock, in milliseconds since the Unix epoch.
    fn now(&self) -> u64 {
        let elapsed = u64::try_from(self.world.elapsed().as_millis()).unwrap_or(u64::MAX);
        FIRST_MS.saturating_add(elapsed).saturating_add_signed(self.ahead_ms.load(Ordering::Relaxed))
    }

    /// Sends a request. It travels by itself: when the sender goes away, it may arrive all the same.
    async fn request<T, F>(&self, op: StoreOp, key: &str, effect: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Objects) -> Result<T, StoreError> + Send + 'static,
    {
        let fate = Fate::draw(&self.world);
        let (mut answer, result) = oneshot::channel();
        let (store, name) = (self.clone(), key.to_owned());
        tokio::spawn(async move {
            let broken = |why: &str| StoreError::failed(&name, op, format!("simulated: {why}"));
            let late = |after| StoreError::TimedOut { key: name.clone(), op, after };
            let refuse = |why: &str| store.world.note(&format!("store {op} {name}: {why}"));
            pause(fate.before).await;
            // The sender may have gone away, here and below.
            match fate.way {
                Way::Answered => {
                    let result = store.act(op, &name, effect);
                    pause(fate.after).await;
                    let _ = answer.send(result);
                }
                Way::Lost => {
                    refuse("refused");
                    let _ = answer.send(Err(broken("the request was lost")));
                }
                Way::AnswerLost => {
                    store.act(op, &name, effect).map_or_else(drop, drop);
                    pause(fate.after).await;
                    let _ = answer.send(Err(broken("the answer was lost")));
                }
                Way::Late(late) => {
                    let _ = answer.send(Err(broken("no answer in time")));
                    pause(late).await;
                    store.act(op, &name, effect).map_or_else(drop, drop);
                }
                Way::Throttled => {
                    refuse("throttled");
                    let (key, detail) = (name.clone(), "simulated: SlowDown".to_owned());
                    let _ = answer.send(Err(StoreError::Throttled { key, op, detail, wait: None }));
                }
                Way::TimedOut { applied, after } => {
                    if applied {
                        store.act(op, &name, effect).map_or_else(drop, drop);
                    }
                    pause(after).await;
                    refuse("timed out");
                    let _ = answer.send(Err(late(after)));
                }
                Way::Hangs { applied } => {
                    if applied {
                        store.act(op, &name, effect).map_or_else(drop, drop);
                    }
                    refuse("hangs");
                    answer.closed().await;
                }
            }
        });
        result.await.unwrap_or_else(|_| Err(StoreError::failed(key, op, "the simulation ended")))
    }

    fn act<T, F>(&self, op: StoreOp, key: &str, effect: F) -> Result<T, StoreError>
    where
        F: FnOnce(&mut Objects) -> Result<T, StoreError>,
    {
        let result = {
            let mut objects = self.objects.lock();
            objects.set_now(self.now(), self.world.elapsed());
            effect(&mut objects)
        };
        let end = result.as_ref().map_or_else(ToString::to_string, |_| "ok".to_owned());
        self.world.note(&format!("store {op} {key}: {end}"));
        result
    }

    /// Creates an object unless the key is taken, or has the sender believe that it was.
    async fn create(&self, op: StoreOp, key: &str, body: Body) -> Result<(), StoreError> {
        let chance = self.world.plan.lock().store.self_collision;
        let collides = self.world.fate.chance(chance);
        let name = key.to_owned();
        self.request(op, key, move |objects| {
            objects.create(name.clone(), body)?;
            if collides { Err(StoreError::AlreadyExists { key: name }) } else { Ok(()) }
        })
        .await
    }
}

#[async_trait]
impl Store for SimStore {
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        check_key(key)?;
        self.create(StoreOp::Put, key, Body::Own(body)).await
    }

    async fn put(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        check_key(key)?;
        let name = key.to_owned();
        self.request(StoreOp::Put, key, move |objects| {
            objects.insert(name, Body::Own(body));
            Ok(())
        })
        .await
    }

    async fn swap(&self, key: &str, body: Bytes, expected: &Tag) -> Result<Tag, StoreError> {
        check_key(key)?;
        let chance = self.world.plan.lock().store.self_collision;
        let collides = self.world.fate.chance(chance);
        let (name, expected) = (key.to_owned(), expected.clone());
        self.request(StoreOp::Swap, key, move |objects| {
            let tag = objects.swap(name.clone(), body, &expected)?;
            if collides { Err(StoreError::Stale { key: name }) } else { Ok(tag) }
        })
        .await
    }

    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        check_key(key)?;
        let name = key.to_owned();
        self.request(StoreOp::Get, key, move |objects| {
            objects.read(&name).ok_or(StoreError::NotFound { key: name })
        })
        .await
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        check_key(key)?;
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let name = key.to_owned();
        self.request(StoreOp::Get, key, move |objects| {
            let Some(body) = objects.read(&name) else {
                return Err(StoreError::NotFound { key: name });
            };
            let bounds = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
            match bounds {
                Some((start, end)) if end <= body.len() => Ok(body.slice(start..end)),
                _ => {
                    let len = body.len() as u64;
                    Err(StoreError::OutOfRange { key: name, start: range.start, end: range.end, len })
                }
            }
        })
        .await
    }

    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError> {
        check_key(key)?;
        let name = key.to_owned();
        self.request(StoreOp::Head, key, move |objects| Ok(objects.info(&name))).await
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        check_key(key)?;
        let name = key.to_owned();
        let chance = self.world.plan.lock().store.lying_delete;
        let lies = self.world.fate.chance(chance);
        self.request(StoreOp::Delete, key, move |objects| {
            if !lies {
                objects.remove(&name);
            }
            Ok(())
        })
        .await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        if !prefix.is_empty() {
            crate::store::check_prefix(prefix)?;
        }
        let start = prefix.to_owned();
        let (chance, by) = {
            let plan = self.world.plan.lock();
            (plan.store.stale_list, plan.store.stale_by)
        };
        let ago = if self.world.fate.chance(chance) { by } else { Duration::ZERO };
        self.request(StoreOp::List, prefix, move |objects| Ok(objects.list(&start, ago))).await
    }

    async fn adopt(&self, disk: &dyn Disk, path: &str, key: &str) -> Result<Adopted, StoreError> {
        check_key(key)?;
        let chance = self.world.plan.lock().store.partial_upload;
        if self.world.fate.chance(chance) && disk.exists(path).await.unwrap_or(false) {
            let name = key.to_owned();
            return self
                .request(StoreOp::Adopt, key, move |objects| {
                    objects.leave_over(name.clone());
                    Err(StoreError::failed(&name, StoreOp::Adopt, "simulated: the upload broke off"))
                })
                .await;
        }
        if let Place::Simulated(link) = disk.place(path) {
            link.pin(true);
            self.create(StoreOp::Adopt, key, Body::Linked(link)).await?;
            return Ok(Adopted::Linked);
        }
        let body = disk.read(path).await.map_err(|error| crate::store::adopt_error(key, error))?;
        self.create(StoreOp::Adopt, key, Body::Own(body)).await?;
        Ok(Adopted::Copied)
    }
}
