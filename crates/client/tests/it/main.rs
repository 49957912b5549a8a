//! The client library against real servers, by one suite for all transports. Whoever runs the tests chooses the servers:
//! `KELDA_TEST_BINARY` is the program of Kelda, of which each test starts a node; `KELDA_TEST_RABBITMQ` is the URL of a RabbitMQ.
//! Without one, its tests say so and pass, unless `KELDA_CHECK` is set.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, missing_docs)]

/// All scenarios, as tests of the worlds that this function makes, if there is a server.
macro_rules! scenarios {
    ($world:ident) => {
        scenarios! { $world:
            declaring::a_declaration_may_be_repeated_and_a_contradiction_shows_both,
            declaring::an_age_is_spelled_canonically_or_exactly_as_given,
            declaring::no_limit_works_and_is_said_once,
            declaring::what_amqp_cannot_do_is_said,
            failing::a_failure_stops_at_that_entry,
            failing::a_target_that_is_there_is_used,
            failing::skipping_puts_copies_beside_the_stream,
            messages::headers_keep_their_names_and_types,
            messages::the_content_type_is_known,
            positions::a_deleted_stream_ends_its_readers,
            positions::a_replaced_stream_ends_its_readers,
            positions::a_stream_that_is_not_there_is_an_error_at_the_start,
            positions::each_start_is_where_it_says,
            producing::a_lost_connection_repeats_nothing,
            producing::a_replaced_stream_ends_its_producers,
            producing::an_epoch_that_was_used_is_refused,
            producing::an_id_needs_a_server_that_knows_it,
            producing::conditions_and_whole_batches_are_for_http,
            producing::results_come_in_order,
            resuming::after_the_newest_finished,
            resuming::at_the_oldest_unfinished,
            resuming::next_does_not_skip_what_came_meanwhile,
            resuming::next_that_was_given_nothing,
            resuming::with_several_handlers,
        }
    };
    ($world:ident: $($module:ident::$scenario:ident),* $(,)?) => {$(
        #[tokio::test]
        async fn $scenario() {
            if let Some(world) = $world().await {
                $crate::suite::$module::$scenario(world).await;
            }
        }
    )*};
}

mod kelda;
#[cfg(feature = "amqp")]
mod rabbitmq;
mod suite;
