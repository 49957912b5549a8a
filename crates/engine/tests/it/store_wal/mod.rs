//! The write-ahead log in the object store.

mod check;
mod cost;
mod crashes;
mod damage;
mod fence;
mod groups;
mod outcomes;
mod ranges;
mod site;
