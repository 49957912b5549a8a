//! The suite against a Kelda, over each of its protocols.

use super::suite::{Over, World};

async fn world(variable: &str, over: Over) -> Option<World> {
    match std::env::var(variable) {
        Ok(url) => Some(World::behind_a_proxy(&url, over).await),
        Err(_) => {
            eprintln!("skipped: {variable} is not set");
            None
        }
    }
}

mod http {
    use super::{Over, World};

    async fn world() -> Option<World> {
        super::world("KELDA_TEST_KELDA_HTTP", Over::Http).await
    }

    scenarios!(world);
}

#[cfg(feature = "amqp")]
mod amqp {
    use super::{Over, World};

    async fn world() -> Option<World> {
        super::world("KELDA_TEST_KELDA_AMQP", Over::Kelda).await
    }

    scenarios!(world);
}
